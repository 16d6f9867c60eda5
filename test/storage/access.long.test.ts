import { getEventListeners } from 'node:events';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createConnection, createServer } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rewriteSegments } from '../../compute/segment/rewrite.js';
import { openForServer, withStore } from '../../storage/access.js';
import { connectToServer, listenForCommands, SOCKET_FILE } from '../../storage/control.js';
import { makePrivate } from '../../storage/data-directory.js';
import { InputError, LossError, StoreBusyError } from '../../storage/errors.js';
import { fathom, fathomProcess, serveHere } from '../support/cli.js';
import { packedRequest } from '../support/command-requests.js';
import { opensStore, Script, WAITING_ON } from '../support/processes.js';
import {
  bundleOf,
  commitRows,
  DataDirectory,
  MINT,
  openStore,
  orca,
  snapshot,
} from '../support/stores.js';
import { becomes, eventually } from '../support/waiting.js';

const NOW_S = 1_794_000_000;
const options = {
  rewrite: (input: Parameters<typeof rewriteSegments>[0]) =>
    Promise.resolve(rewriteSegments(input)),
};
const request = { tier: 'premium', name: 'n', requestsPerMinute: Infinity } as const;

/** A file with one snapshot of `cells` cells at `t`. */
function fileOf(directory: DataDirectory, t: number, cells = 3): string {
  mkdirSync(directory.path, { recursive: true });
  const file = path.join(directory.path, `${t}.ndjson`);
  const market = orca(Array.from({ length: cells }, (_, i) => [i, 5, 7.5]));
  writeFileSync(file, `${JSON.stringify(snapshot(t, [market]))}\n`);
  return file;
}

function startServer(directory: string, env: Record<string, string> = {}): Script {
  const words = ['serve', '--data', directory, '--port', '0', '--as-of', String(NOW_S)];
  return Script.fathom([...words, '--threads', '1'], env);
}

async function urlOf(server: Script): Promise<string> {
  const [, url] = await server.line(/"url":"([^"]+)","msg":"listening"/);
  return url;
}

async function serve(directory: string): Promise<{ server: Script; url: string }> {
  const server = startServer(directory);
  return { server, url: await urlOf(server) };
}

/** Times of the snapshots that the server shows to a key; its status if it shows none. */
async function shown(url: string, key: string): Promise<number[] | number> {
  const response = await fetch(`${url}/api/v1/replay/${MINT}`, { headers: { 'x-api-key': key } });
  if (response.status !== 200) return response.status;
  const page = (await response.json()) as { snapshots: { t: number }[] };
  return page.snapshots.map(({ t }) => t);
}

describe('A server that keeps the store', () => {
  // A path too long to bind a socket to.
  const directory = new DataDirectory(['a-directory-with-a-long-name'.repeat(4)]);
  const data = directory.path;
  let server: Script;
  let url: string;
  let key: string;

  const cli = async (...words: string[]) => {
    const { status, stdout, stderr } = await fathom([...words, '--data', data, '--json']);
    if (status !== 0) throw new Error(stderr);
    return JSON.parse(stdout) as { id: string; key: string };
  };

  beforeAll(async () => {
    expect(path.join(data, SOCKET_FILE).length).toBeGreaterThan(108);
    ({ server, url } = await serve(data));
    ({ key } = await cli('keys', 'create', '--tier', 'enterprise'));
  });
  afterAll(async () => {
    await server.kill();
  });

  it('has a socket that only its user may use', () => {
    expect(statSync(path.join(data, SOCKET_FILE)).mode & 0o777).toBe(0o600);
  });

  it('serves what an ingest adds', async () => {
    await cli('ingest', 'snapshots', fileOf(directory, NOW_S - 60));
    await becomes(() => shown(url, key), [NOW_S - 60]);
    await Promise.all([
      cli('ingest', 'snapshots', fileOf(directory, NOW_S - 120)),
      cli('ingest', 'snapshots', fileOf(directory, NOW_S - 180), '--merge'),
    ]);
    const all = [NOW_S - 180, NOW_S - 120, NOW_S - 60];
    await becomes(() => shown(url, key), all);
  });

  it('refuses what contradicts the store, with the command’s own message', async () => {
    const file = path.join(data, 'contradiction.ndjson');
    const market = { ...orca(), type: 'onchain_limit_order' };
    writeFileSync(file, JSON.stringify(snapshot(NOW_S, [market])));
    const { status, stderr } = await fathom(['ingest', 'snapshots', file, '--data', data]);
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^\S+contradiction\.ndjson.*venue orca is onchain_pool in the store.*\n$/,
    );
  });

  it('leaves a harmless socket behind when it is killed', async () => {
    await server.kill();
    expect(existsSync(path.join(data, SOCKET_FILE))).toBe(true);
    await cli('ingest', 'snapshots', fileOf(directory, NOW_S - 240));
    const next = await serveHere(data, ['--as-of', String(NOW_S)]);
    const all = [NOW_S - 240, NOW_S - 180, NOW_S - 120, NOW_S - 60];
    expect(await shown(next.url, key)).toEqual(all);
    await next.stop();
    expect(existsSync(path.join(data, SOCKET_FILE))).toBe(false);
  });
});

describe('Processes that want one store', () => {
  it('two ingests at once: one waits for the other, both succeed', async () => {
    const directory = new DataDirectory();
    const words = (t: number) => [
      'ingest',
      'snapshots',
      fileOf(directory, t),
      '--data',
      directory.path,
    ];
    const finished = await Promise.all(
      [1, 2].map((t) => fathomProcess(words(t), { env: WAITING_ON })),
    );
    expect(finished.map(({ status, stderr }) => [status, stderr.includes('1 snapshot,')])).toEqual(
      [1, 2].map(() => [0, true]),
    );
    const store = await openStore(directory.path);
    const times = await store.snapshotTimes({ chain: 'mainchain', address: MINT, tier: 'raw' });
    expect([...times]).toEqual([1, 2]);
    await store.close();
  });

  it('a starting server waits for a command that has the store', async () => {
    const directory = new DataDirectory();
    const store = await openStore(directory.path);
    await commitRows(store, [snapshot(NOW_S - 5)]);
    const { key } = await store.createKey(request);
    const server = startServer(directory.path, WAITING_ON);
    if (process.platform === 'linux') {
      await eventually('it waits for the store', () => opensStore(server.pid));
    }
    await commitRows(store, [snapshot(NOW_S - 4)]);
    await store.close();
    const url = await urlOf(server);
    expect(await shown(url, key)).toEqual([NOW_S - 5, NOW_S - 4]);
    expect(await server.stop()).toBe(0);
  });

  it('a process that waits in vain says so', async () => {
    const directory = new DataDirectory();
    const holder = Script.start('hold-store.mjs', [directory.path]);
    await holder.line(/^held$/);
    // As in the middle of a commit: nobody may take this for the leftovers of a killed process.
    const log = path.join(directory.path, 'fathom.duckdb.wal');
    appendFileSync(log, 'half of an entry');
    const bytes = readFileSync(log);
    const waited = withStore(directory.path, options, (store) => store.summary(), 300);
    await expect(waited).rejects.toBeInstanceOf(StoreBusyError);
    await expect(waited).rejects.toThrow(
      /is in use by another Fathom process .* tried for 0\.3 s$/,
    );
    await expect(openForServer(directory.path, options, 300)).rejects.toThrow(
      `${directory.path} is in use by another Fathom process`,
    );
    // Stopped when the time is up, too.
    const stopped = AbortSignal.abort(new Error('stopped'));
    const opening = openForServer(directory.path, options, 0, stopped);
    await expect(opening).rejects.toThrow('stopped');
    expect(readFileSync(log)).toEqual(bytes);
    await holder.kill();
    expect((await withStore(directory.path, options, (store) => store.summary())).tokens).toBe(0);
  });
});

describe('The control socket', () => {
  const directory = new DataDirectory();
  const errors: unknown[] = [];
  const socketFile = path.join(directory.path, SOCKET_FILE);

  it('carries errors by class, internal ones without their text', async () => {
    const store = await openStore(directory.path);
    const control = await listenForCommands(directory.path, store, (error) => errors.push(error));
    const remote = await connectToServer(directory.path);
    if (remote === null) throw new Error('nobody listens');
    await expect(remote.revokeKey('key_none')).rejects.toBeInstanceOf(InputError);
    await expect(remote.commit('../x')).rejects.toThrow(
      'the command failed in the server; its log says',
    );
    expect(String(errors.at(-1))).toContain('not the name of a bundle');
    const loss = { mode: 'merge', refusesLoss: true } as const;
    await commitRows(store, [snapshot(1, [orca()])]);
    const bundle = await bundleOf(store, [snapshot(1, [orca([])])], loss);
    await expect(remote.rehearse(bundle.name)).rejects.toBeInstanceOf(LossError);
    await expect(remote.commit(bundle.name)).rejects.toBeInstanceOf(LossError);
    await bundle.discard();
    const allowed = await bundleOf(store, [snapshot(1, [orca([])])], { mode: 'merge' });
    const rehearsed = await remote.rehearse(allowed.name);
    expect(rehearsed.replaced).toEqual({ snapshots: 1, cellsBefore: 1, cellsAfter: 0 });
    expect(await remote.commit(allowed.name)).toEqual(rehearsed);
    await allowed.discard();
    const issued = await remote.createKey(request);
    expect(issued.requestsPerMinute).toBe(Infinity);
    const prices = await remote.snapshotPrices([
      { chain: 'mainchain', address: MINT, tier: 'raw', t: 2 },
    ]);
    expect(prices).toEqual(new Float64Array([NaN]));
    remote.close();
    await control.close();
    await store.close();
  });

  it('closes although a client never disconnects, and takes no more requests', async () => {
    const store = await openStore(directory.path);
    const control = await listenForCommands(directory.path, store, (error) => errors.push(error));
    const idle = createConnection({ path: socketFile, allowHalfOpen: true });
    await new Promise((resolve) => idle.once('connect', resolve));
    const half = createConnection(socketFile);
    half.on('error', () => undefined);
    const request = packedRequest({ operation: 'listKeys', args: [] });
    await new Promise((resolve) => half.write(request.subarray(0, -1), resolve));
    const remote = await connectToServer(directory.path);
    await control.close();
    expect(existsSync(socketFile)).toBe(false);
    await expect(remote?.listKeys()).rejects.toThrow(
      'the server did not give its version: nothing more was stored',
    );
    expect(await connectToServer(directory.path)).toBeNull();
    idle.destroy();
    await store.close();
  });

  it('counts as closed if its server ends just as a command connects', async () => {
    mkdirSync(directory.path, { recursive: true });
    const server = createServer();
    await new Promise<void>((resolve) =>
      server.listen(path.join(directory.path, SOCKET_FILE), resolve),
    );
    const connecting = connectToServer(directory.path);
    // The system connects at once; Node learns of it in the next turn of the event loop.
    for (let i = 0; i < 10; i++) await Promise.resolve();
    server.close();
    expect(await connecting).toBeNull();
  });
});

describe('A signal that stops commands', () => {
  const directory = new DataDirectory(['stopped']);

  it('keeps no listener of those that have ended, and stops the next one', async () => {
    const stopping = new AbortController();
    const { signal } = stopping;
    const run = <T>(body: () => Promise<T>) => withStore(directory.path, options, body, 0, signal);
    const listeners = () => getEventListeners(signal, 'abort').length;
    expect(await run(() => Promise.resolve(listeners()))).toBe(1);
    await expect(run(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    expect(listeners()).toBe(0);
    const endless = run(() => {
      stopping.abort(new Error('stopped'));
      return new Promise(() => undefined);
    });
    await expect(endless).rejects.toThrow('stopped');
  });
});

describe('A store that a command made', () => {
  const directory = new DataDirectory(['made-by-a-command']);

  it('is busy if its directory is removed meanwhile', async () => {
    await expect(makePrivate(path.join(directory.path, 'gone'))).rejects.toThrow(StoreBusyError);
  });

  it('is removed if nothing was put into it, and stays if another command did', async () => {
    const data = path.join(directory.path, 'made', 'data');
    const look = () => withStore(data, options, (store) => store.listKeys());
    expect(await look()).toEqual([]);
    expect(existsSync(path.dirname(data))).toBe(false);
    const create = () => withStore(data, options, (store) => store.createKey(request));
    const [, , issued] = await Promise.all([look(), look(), create(), look(), look()]);
    expect(await look()).toEqual([expect.objectContaining({ id: issued.id })]);
    const store = await openStore(data);
    expect(store.keys.verify(issued.key)?.id).toBe(issued.id);
    await store.close();
  });
});
