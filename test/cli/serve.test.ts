/** `fathom serve`: its settings, its start and its end. */
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../bench/programs.js';
import { THREAD_NICENESS } from '../../compute/pool.js';
import { defaultThreads } from '../../server/memory.js';
import { settingsOf } from '../support/settings.js';
import { UsageError } from '../../storage/errors.js';
import {
  cleanUp,
  fathomProcess,
  newKey,
  serve,
  temporaryDirectory,
  withStoreOf,
  type Server,
} from '../support/cli.js';
import { handlesSignals, MAIN, niceValuesOf } from '../support/processes.js';
import { eventually } from '../support/waiting.js';

const directory = temporaryDirectory();
const data = path.join(directory, 'data');

let key: string;

beforeAll(async () => {
  key = await newKey(data);
});
afterAll(cleanUp);

describe('a server', () => {
  it('logs one line with its URL, keeps its port and directory for itself, and drains at SIGTERM', async () => {
    const port = String((await freePorts(1))[0]);
    const server = await serve(data, [
      ...['--port', port, '--threads', '1', '--lenient-parameters', '--cors-origin=*'],
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
      fathomProcess(['serve', '--data', other, '--port', port, '--threads', '1']),
      fathomProcess(['serve', '--data', data, '--port', '0', '--threads', '1']),
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
    const child = spawn(process.execPath, [MAIN, 'serve', '--data', taken, '--port', '0'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    const ended = new Promise((resolve) => child.once('close', resolve));
    await eventually('it can be stopped', () => handlesSignals(child.pid as number));
    expect([child.exitCode, said]).toEqual([null, '']);
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
    expect(said).toBe('');
  });
}

describe('settings', () => {
  it('default to ./data and fathom.config.json, and variables override them; SIGINT drains too', async () => {
    const home = temporaryDirectory();
    const [port] = await freePorts(1);
    const config = { host: '127.0.0.1', port, 'as-of': 'never' };
    writeFileSync(path.join(home, 'fathom.config.json'), JSON.stringify(config));
    const env = { FATHOM_AS_OF: '2026-11-11T00:00:00Z', FATHOM_THREADS: '1' };
    const server = await serve(null, [], { cwd: home, env });
    expect(server.url).toBe(`http://127.0.0.1:${port}`);
    // A new store is reported, because the directory may be mistyped.
    const isLogged = () => server.logged().includes('"msg":"the store is empty"');
    await eventually('it is said', isLogged);
    expect(await server.stop('SIGINT')).toEqual({ status: 0, signal: null });
    const { tokens } = await withStoreOf(path.join(home, 'data'), (store) => store.summary());
    expect(tokens).toBe(0);
  });

  /** Options as they result from words and variables. */
  function options(words: string[], env: Record<string, string> = {}) {
    const before = { ...process.env };
    Object.assign(process.env, env);
    try {
      return settingsOf(words);
    } finally {
      for (const name of Object.keys(env)) delete process.env[name];
      Object.assign(process.env, before);
    }
  }
  const everything = {
    FATHOM_DATA: '/a',
    FATHOM_HOST: '::1',
    FATHOM_PORT: '81',
    FATHOM_AS_OF: '1794659696',
    FATHOM_THREADS: '3',
  };

  it('come from the flag, otherwise the variable, the config file, or the default', () => {
    expect(options([])).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      asOfS: null,
      threads: defaultThreads(2048),
      corsOrigins: [],
      addressLimit: null,
      stopDelayS: 0,
      lenientParameters: false,
    });
    const inherited = { directory: '/a', host: '::1', port: 81, asOfS: 1_794_659_696, threads: 3 };
    expect(options([], everything)).toMatchObject(inherited);
    const words =
      '--data /b --host 0.0.0.0 --port 0 --as-of 2026-11-14T12:34:56Z --threads 1'.split(' ');
    expect(options(words, everything)).toMatchObject({
      directory: '/b',
      host: '0.0.0.0',
      port: 0,
      asOfS: Date.UTC(2026, 10, 14, 12, 34, 56) / 1000,
      threads: 1,
    });
    const allowed = ['--cors-origin', 'https://a.example', '--cors-origin', 'http://b:3000'];
    expect(options([...allowed, '--lenient-parameters'], {})).toMatchObject({
      corsOrigins: ['https://a.example', 'http://b:3000'],
      lenientParameters: true,
    });
    const env = {
      FATHOM_CORS_ORIGIN: 'https://a.example, *',
      FATHOM_LENIENT_PARAMETERS: 'true',
    };
    expect(options([], env)).toMatchObject({
      corsOrigins: ['https://a.example', '*'],
      lenientParameters: true,
    });
    const web = path.join(directory, 'web.json');
    writeFileSync(web, '{"cors-origin": ["http://b:3000"], "lenient-parameters": true}');
    expect(options([], { FATHOM_CONFIG: web })).toMatchObject({
      corsOrigins: ['http://b:3000'],
      lenientParameters: true,
    });
    const config = path.join(directory, 'all.json');
    writeFileSync(config, JSON.stringify({ data: '/c', port: 82, threads: 2 }));
    expect(options(['--port', '83'], { FATHOM_CONFIG: config, FATHOM_THREADS: '5' })).toMatchObject(
      {
        directory: '/c',
        port: 83,
        threads: 5,
      },
    );
  });

  it('that are invalid are wrong usage, and state their source', () => {
    const config = path.join(directory, 'wrong.json');
    const wrong: [string[], Record<string, string>, RegExp][] = [
      [['--port', '65536'], {}, /^--port: expected a whole number from 0 to 65535, not 65536$/],
      [['--port', ''], {}, /^--port: expected a value, not an empty/],
      [
        [],
        { FATHOM_PORT: 'http' },
        /^FATHOM_PORT: expected a whole number from 0 to 65535, not http$/,
      ],
      [['--as-of', 'yesterday'], {}, /^--as-of: /],
      [['--as-of', '1794659696000'], {}, /^--as-of: /],
      [[], { FATHOM_AS_OF: '2026-11-14T12:00:00' }, /^FATHOM_AS_OF: /],
      [['--threads', '0'], {}, /^--threads: /],
      [[], { FATHOM_LENIENT_PARAMETERS: 'yes' }, /^FATHOM_LENIENT_PARAMETERS: expected true or f/],
      [
        ['--cors-origin', 'https://A.example:443/app'],
        {},
        /^--cors-origin: expected an origin .*, not '.*'; did you mean https:\/\/a\.example\?$/,
      ],
      [
        ['--cors-origin', 'https://a.example', '--cors-origin', 'a.example'],
        {},
        /not 'a\.example'$/,
      ],
      [['--cors-origin', 'null'], {}, /^--cors-origin: expected an origin/],
      [['--cors-origin', 'https://*.a.example'], {}, /^--cors-origin: .*, not '.*a\.example'$/],
      [['--cors-origin', 'https://a.example,https://b.example'], {}, /not '.*b\.example'$/],
      [['--cors-origin', ''], {}, /^--cors-origin: expected a value, not an empty/],
      [[], { FATHOM_CORS_ORIGIN: 'https://a.example,,*' }, /^FATHOM_CORS_ORIGIN: expected an orig/],
      [['extra'], {}, /^unexpected extra$/],
      [['--verbose'], {}, /^unknown flag --verbose$/],
      [['--thread', '2'], {}, /^unknown flag --thread; did you mean --threads\?$/],
      [[], { FATHOM_CONFIG: '/nowhere.json' }, /^FATHOM_CONFIG: \/nowhere\.json: no such file$/],
      [[], { FATHOM_CONFIG: config }, /wrong\.json: portt: expected one of data, host, port/],
    ];
    writeFileSync(config, '{"portt": 1}');
    for (const [words, env, expected] of wrong) {
      expect(() => options(words, env)).toThrow(UsageError);
      expect(() => options(words, env)).toThrow(expected);
    }
  });
});
