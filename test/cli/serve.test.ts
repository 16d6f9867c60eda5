/** `fathom serve`: its settings, its start and its end. */
import { existsSync, writeFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../bench/programs.js';
import { THREAD_NICENESS } from '../../compute/pool.js';
import { DATABASE_FILE } from '../../storage/data-directory.js';
import {
  fathomProcess,
  newKey,
  serve,
  serveHere,
  withStoreOf,
  type Server,
} from '../support/cli.js';
import { atEnd, temporaryDirectory } from '../support/folders.js';
import { tamper } from '../support/stores.js';
import { MAIN, niceValuesOf, opensStore, start, WAITING_ON } from '../support/processes.js';
import { becomes, eventually } from '../support/waiting.js';
import { ENGINES } from '../support/engines.js';

const directory = temporaryDirectory();
const data = path.join(directory, 'data');

let key: string;

beforeAll(async () => {
  key = await newKey(data);
});

it("does not call itself ready with the store of a cluster's node, which its log leaves behind", async () => {
  const node = temporaryDirectory();
  const nodeKey = await newKey(node);
  const mark = JSON.stringify({ logId: 'a log', position: 3, entryId: 'an entry', isOwn: false });
  await tamper(
    path.join(node, DATABASE_FILE),
    `UPDATE meta SET value = '${mark}' WHERE key = 'log'`,
  );
  const server = await serveHere(node);
  const readiness = async () => (await fetch(`${server.url}/readyz`)).json();
  await becomes(readiness, { status: 'not_ready', reasons: ['following'], position: 3 });
  expect(server.logged()).toContain('the store belongs to a node of a cluster');
  expect((await server.get('/top-scores', nodeKey)).status).toBe(200);
  await server.stop();
});

/** No warning that uWebSockets.js does not load. */
const QUIET = ['--threads', '1', '--http-engine', ENGINES[0]];

describe('a server', () => {
  it('logs one line with its URL, keeps its port and directory for itself, and drains at SIGTERM', async () => {
    const port = String((await freePorts(1))[0]);
    const server = await serve(data, [
      '--port',
      port,
      '--threads',
      '1',
      '--lenient-parameters',
      '--cors-origin=*',
    ]);
    const listening = server
      .logged()
      .split('\n')
      .filter((line) => line.includes('http://'));
    expect(listening).toEqual([
      expect.stringMatching(
        /^\{"level":"info","time":"\S+Z","url":"http:\/\/127\.0\.0\.1:\d+","msg":"listening"\}$/,
      ),
    ]);
    if (process.platform === 'linux') expectLoopFirst(server);
    // The other flags have their effect.
    expect((await server.get('/top-scores?limt=5', key)).status).toBe(200);
    const headers = { origin: 'https://a.example', 'access-control-request-method': 'GET' };
    const preflight = { method: 'OPTIONS', headers };
    expect((await fetch(`${server.url}/api/v1/top-scores`, preflight)).status).toBe(204);
    const other = path.join(directory, 'other');
    const [samePort, sameData] = await Promise.all([
      fathomProcess(['serve', '--data', other, '--port', port, ...QUIET]),
      fathomProcess(['serve', '--data', data, '--port', '0', ...QUIET]),
    ]);
    expect([samePort.status, samePort.stdout, samePort.stderr]).toEqual([
      1,
      '',
      `fathom: port ${port} on 127.0.0.1 is in use\n`,
    ]);
    // A failed start leaves nothing of the store that it created.
    expect(existsSync(other)).toBe(false);
    expect([sameData.status, sameData.stderr]).toEqual([
      1,
      `a Fathom server already runs on ${data}\n`,
    ]);
    expect((await server.get('/replay/x', 'no key')).status).toBe(401);
    expect(await server.stop('SIGTERM')).toEqual({ status: 0, signal: null });
  });

  /** Whether its event loop has precedence over all other threads. */
  function expectLoopFirst({ pid }: Server): void {
    const nice = niceValuesOf(pid);
    const own = nice.get(pid) as number;
    nice.delete(pid);
    expect(own).toBe(getPriority());
    // DuckDB's threads, the ones that run its calls, V8's and the pool's.
    expect(nice.size).toBeGreaterThan(8);
    expect(new Set(nice.values())).toEqual(new Set([Math.min(own + THREAD_NICENESS, 19)]));
  }

  it.runIf(process.platform === 'linux')(
    'says what is missing where too few files may be open',
    async () => {
      const words = ['serve', '--data', data, '--port', '0'];
      expect(await fathomProcess(words, { descriptors: 200 })).toMatchObject({
        status: 1,
        stderr: expect.stringMatching(/^the limit on open files is 200: a server needs 256, .*\n$/),
      });
    },
  );

  it.runIf(process.platform === 'linux')(
    'that waits for its directory is stopped at once',
    stoppedWhileWaiting,
  );
});

/** A store that is open here accepts no commands: a server waits for it until it is stopped. */
function stoppedWhileWaiting(): Promise<void> {
  const taken = path.join(directory, 'taken');
  return withStoreOf(taken, async () => {
    const words = ['serve', '--data', taken, '--port', '0'];
    const child = start(process.execPath, [MAIN, ...words], { env: WAITING_ON });
    atEnd(() => child.kill('SIGKILL'));
    let output = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (output += text));
    const ended = new Promise((resolve) => child.once('close', resolve));
    await eventually('it waits for the store', () => opensStore(child.pid as number));
    expect([child.exitCode, output]).toEqual([null, '']);
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
    expect(output).toBe('');
  });
}

describe('settings', () => {
  it('default to ./data and fathom.config.json, and variables override them; SIGINT drains too', async () => {
    const home = temporaryDirectory();
    const [port] = await freePorts(1);
    const config = { host: '127.0.0.1', port, 'as-of': 'never' };
    writeFileSync(path.join(home, 'fathom.config.json'), JSON.stringify(config));
    const env = { FATHOM_AS_OF: '2026-11-11T00:00:00Z', FATHOM_THREADS: '1', FATHOM_HOTS: '::1' };
    const server = await serve(null, [], { cwd: home, env });
    expect(server.logged()).toContain(
      '"msg":"FATHOM_HOTS: no command reads this variable; did you mean FATHOM_HOST?"',
    );
    expect(server.url).toBe(`http://127.0.0.1:${port}`);
    // A new store is reported, because the directory may be mistyped.
    const isLogged = () => server.logged().includes('"msg":"the store is empty"');
    await eventually('it is said', isLogged);
    expect(await server.stop('SIGINT')).toEqual({ status: 0, signal: null });
    const { tokens } = await withStoreOf(path.join(home, 'data'), (store) => store.summary());
    expect(tokens).toBe(0);
  });
});
