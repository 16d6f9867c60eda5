/**
 * Opens, uses, fails and closes what Fathom opens, in DIRECTORY, and prints as JSON what each case leaves open
 * and what the garbage collector closed. The collector runs only at the end.
 */
import { createRequire } from 'node:module';
import { mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readWords } from '../../dist/server/cli/flags.js';
import { serveOptions } from '../../dist/server/cli/serve-options.js';
import { SERVE_FLAGS } from '../../dist/server/cli/settings.js';
import { startService } from '../../dist/server/service.js';
import { arrowWriter } from '../../dist/server/download/arrow-file.js';
import { takeLock } from '../../dist/storage/file-lock.js';
import { parquetWriter } from '../../dist/server/download/parquet-file.js';
import { PartFile, partPaths } from '../../dist/server/download/part-file.js';
import { createLogger } from '../../dist/server/logger.js';
import { rewriteSegments } from '../../dist/compute/segment/rewrite.js';
import { withReading, withStore } from '../../dist/storage/access.js';
import { backupStore } from '../../dist/storage/backup.js';
import { BUNDLE_VERSION, BundleWriter, readBundle } from '../../dist/storage/bundle.js';
import { bareTokenRow } from '../../dist/storage/depth/catalog.js';
import { connectToServer, listenForCommands } from '../../dist/storage/control.js';
import { Database } from '../../dist/storage/duckdb/database.js';
import { MemoryDatabase } from '../../dist/storage/duckdb/memory-database.js';
import { parquetRows } from '../../dist/storage/ingest/parquet.js';
import { arrowRows } from '../../dist/storage/ingest/arrow.js';
import { readBytes } from '../../dist/storage/lines.js';
import { JetStreamLog } from '../../dist/storage/log/jetstream.js';
import { Store } from '../../dist/storage/store.js';

/** How often each case runs: what one run leaves open shows up this many times. */
const ROUNDS = 2;
/** Streams and sockets close some turns after they are told to. */
const CLOSING_MS = 120_000;

const [, , directory] = process.argv;
const at = (...names) => path.join(directory, ...names);

// What DuckDB has open, counted by its client's calls.
const duckdb = createRequire(import.meta.url)('@duckdb/node-api');
const held = {
  instances: new Set(),
  connections: new Set(),
  statements: new Set(),
  results: new Set(),
};
function opens(of, name, kind) {
  const call = of[name];
  of[name] = async function (...args) {
    const made = await call.apply(this, args);
    held[kind].add(made);
    return made;
  };
}
function closes(of, name, kind) {
  const call = of[name];
  of[name] = function (...args) {
    held[kind].delete(this);
    return call.apply(this, args);
  };
}
opens(duckdb.DuckDBInstance, 'create', 'instances');
closes(duckdb.DuckDBInstance.prototype, 'closeSync', 'instances');
opens(duckdb.DuckDBInstance.prototype, 'connect', 'connections');
closes(duckdb.DuckDBConnection.prototype, 'closeSync', 'connections');
opens(duckdb.DuckDBExtractedStatements.prototype, 'prepare', 'statements');
closes(duckdb.DuckDBPreparedStatement.prototype, 'destroySync', 'statements');
// A result that is not read to its end keeps the database's file open.
opens(duckdb.DuckDBConnection.prototype, 'stream', 'results');
const { fetchChunk } = duckdb.DuckDBResult.prototype;
duckdb.DuckDBResult.prototype.fetchChunk = async function () {
  const chunk = await fetchChunk.call(this).catch((error) => {
    held.results.delete(this);
    throw error;
  });
  if (chunk === null || chunk.rowCount === 0) held.results.delete(this);
  return chunk;
};

const warnings = [];
process.on('warning', (warning) => warnings.push(String(warning)));

/** What is open: files, sockets, and what DuckDB has. */
function openNow() {
  const files = readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const name = readlinkSync(`/proc/self/fd/${fd}`);
      // Sockets and pipes have numbers; the listing itself is open while it is read.
      return name.endsWith('/fd') ? [] : [name.replace(/:\[\d+\]$/, '')];
    } catch {
      return [];
    }
  });
  const counts = Object.entries(held).map(([kind, { size }]) => [kind, size]);
  return { files: files.sort(), ...Object.fromEntries(counts) };
}

/** What is open now and was not before. */
function opened(before) {
  const now = openNow();
  const known = [...before.files];
  const files = now.files.filter((name) => {
    const i = known.indexOf(name);
    if (i >= 0) known.splice(i, 1);
    return i < 0;
  });
  const counts = Object.keys(held).filter((kind) => now[kind] !== before[kind]);
  return [...files, ...counts.map((kind) => `${now[kind] - before[kind]} ${kind}`)];
}

const failing = async (work) => {
  const error = await Promise.resolve()
    .then(work)
    .then(
      () => null,
      (caught) => caught,
    );
  if (error === null) throw new Error(`${work} did not fail`);
};
const options = { rewrite: (input) => Promise.resolve(rewriteSegments(input)), threads: 1 };
const memory = { memoryLimitMiB: 128, threads: 1 };
const token = { chain: 'mainchain', address: 'So11111111111111111111111111111111111111112' };
const logged = { write: () => true, writableLength: 0 };
const log = createLogger({ stream: logged });

async function bundleIn(place) {
  const bundle = await BundleWriter.create(place);
  await bundle.write({ kind: 'header', version: BUNDLE_VERSION, file: 'x', mode: 'replace' });
  const row = bareTokenRow(token.chain, token.address);
  await bundle.write({ kind: 'tokens', rows: [{ line: 1, row }] });
  return bundle;
}
function serving(place, ...words) {
  const all = ['--data', place, '--port', '0', '--threads', '1', ...words];
  return startService(serveOptions(readWords(all, { flags: SERVE_FLAGS, words: {} }).flags), log);
}

/** Files that the cases read. */
async function prepare() {
  writeFileSync(at('text.duckdb'), 'no database '.repeat(2000));
  writeFileSync(at('lines.txt'), 'line\n'.repeat(1_000_000));
  writeFileSync(at('no.arrow'), 'ARROW1\0\0 but no more');
  writeFileSync(at('part'), 'not,as,expected\n'.repeat(100_000));
  const database = await MemoryDatabase.open(memory);
  const rows = `SELECT range AS n, md5(range::VARCHAR) AS text FROM range(200000)`;
  await database.run(
    `COPY (${rows}) TO '${at('rows.parquet')}' (FORMAT parquet, ROW_GROUP_SIZE 10000)`,
  );
  database.close();
  const bytes = readFileSync(at('rows.parquet'));
  bytes.fill(255, bytes.length * 0.9, bytes.length * 0.9 + 4000);
  writeFileSync(at('damaged.parquet'), bytes);
  const store = await Store.open(at('store'), options);
  await store.close();
}

const COLUMNS = [
  { name: 'n', kind: 'number', required: true },
  { name: 'text', kind: 'text', required: true },
];
const head = { token: token.address, resolved_token: null, chain: token.chain, group: 'all' };
const totals = { head, slots: [], pages: 1, tiers: ['raw'] };

const cases = {
  'a database': async () => {
    const database = await Database.openFile(at('rows.duckdb'), memory);
    await database.run('CREATE TABLE IF NOT EXISTS t AS SELECT range AS n FROM range(300000)');
    for await (const chunk of database.streamChunks('SELECT n FROM t'))
      if (chunk.rowCount > 0) break;
    for await (const chunk of database.streamChunks('SELECT n FROM t WHERE n > ?', [5])) void chunk;
    await failing(() => database.rows('SELECT ?::INTEGER FROM t', ['text']));
    await failing(() => database.rows('SELECT nothing'));
    await failing(async () => {
      const sql = "SELECT CASE WHEN n < 250000 THEN n ELSE error('no') END FROM t";
      for await (const chunk of database.streamChunks(sql)) void chunk;
    });
    await failing(async () => {
      for await (const chunk of database.streamChunks('SELECT n FROM t'))
        throw new Error(`${chunk.rowCount}`);
    });
    await database.transaction((tx) => tx.append('t', [[1], [2]]));
    await failing(() => database.transaction((tx) => tx.append('t', [['text']])));
    await database.checkpoint();
    await database.close();
  },
  'a database that cannot be opened': async () => {
    await failing(() => Database.openFile(at('text.duckdb'), memory));
    await failing(() => Database.openReadOnly(at('text.duckdb'), memory));
    const database = await Database.openFile(at('held.duckdb'), memory);
    await failing(() => Database.openFile(at('held.duckdb'), memory));
    await database.close();
  },
  'a store': async () => {
    await withStore(at('store'), options, async (store) => {
      const bundle = await bundleIn(at('store'));
      await failing(() => store.commit(bundle.name));
      await bundle.finish();
      await store.rehearse(bundle.name);
      await store.commit(bundle.name);
      await bundle.discard();
      await failing(() => store.commit(bundle.name));
      await failing(() => store.revokeKey('none'));
      await store.checkStep(null);
      await store.shrink();
    });
    await withReading(at('store'), ({ database }) => database.rows('SELECT * FROM meta'));
    await failing(() => withStore(at('store'), options, () => Promise.reject(new Error('no'))));
  },
  'a store that cannot be opened': async () => {
    mkdirSync(at('text'), { recursive: true });
    writeFileSync(at('text', 'fathom.duckdb'), 'no database '.repeat(2000));
    await failing(() => Store.open(at('text'), options));
    const store = await Store.open(at('store'), options);
    await failing(() => Store.open(at('store'), options));
    await store.close();
  },
  'a backup': async () => {
    const useStore = (body) => withStore(at('store'), options, body);
    const of = (out) => backupStore({ directory: at('store'), out: at(out), useStore });
    await of(`backup-${Math.random()}`);
    await failing(() => of('store'));
    const rejects = () => Promise.reject(new Error('no'));
    await failing(() => backupStore({ directory: at('store'), out: at('x'), useStore: rejects }));
  },
  'files that are read': async () => {
    for await (const rows of parquetRows(at('rows.parquet'), COLUMNS)) if (rows.length > 0) break;
    await failing(async () => {
      for await (const rows of parquetRows(at('damaged.parquet'), COLUMNS)) void rows;
    });
    await failing(async () => {
      for await (const rows of parquetRows(at('rows.parquet'), [
        { name: 'none', kind: 'text', required: true },
      ]))
        void rows;
    });
    await failing(async () => {
      for await (const rows of arrowRows(at('no.arrow'), COLUMNS)) void rows;
    });
    for await (const bytes of readBytes(at('lines.txt'))) if (bytes.length > 0) break;
    await failing(async () => {
      for await (const bytes of readBytes(at('none'))) void bytes;
    });
  },
  bundles: async () => {
    const bundle = await bundleIn(at('store'));
    await failing(async () => {
      for await (const frame of readBundle(at('store'), bundle.name)) void frame;
    });
    await bundle.finish();
    for await (const frame of readBundle(at('store'), bundle.name))
      if (frame.kind === 'header') break;
    await bundle.discard();
    await (await bundleIn(at('store'))).discard();
  },
  'commands’ socket': async () => {
    for (const place of [at('store'), at('a'.repeat(60), 'b'.repeat(60))]) {
      mkdirSync(place, { recursive: true });
      const store = {
        isNode: () => Promise.resolve(false),
        summary: () => Promise.resolve({}),
        bytes: () => Promise.reject(new Error('no')),
      };
      const control = await listenForCommands(place, store, () => undefined);
      const remote = await connectToServer(place);
      await remote.summary();
      await failing(() => remote.bytes());
      remote.close();
      await control.close();
      if ((await connectToServer(place)) !== null) throw new Error('it still listens');
    }
    await failing(() => listenForCommands(at('no', 'directory'), {}, () => undefined));
  },
  'a server': async () => {
    for (const engine of ['uws', 'node']) {
      const words = ['--http-engine', engine, '--admin-port', '0'];
      const service = await serving(at('store'), ...words);
      const reply = await fetch(`${service.url}/api/v1/tokens`, {
        headers: { connection: 'close' },
      });
      await reply.text();
      await service.close();
    }
    const taken = createServer();
    await new Promise((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const port = String(taken.address().port);
    for (const flag of ['--port', '--admin-port']) {
      await failing(() => serving(at('store'), flag, port));
    }
    await new Promise((resolve) => taken.close(resolve));
  },
  downloads: async () => {
    const paths = partPaths(at('out'));
    const part = await PartFile.open(paths, { bytes: 0, state: {} });
    await part.append(['a', 'b']);
    await part.commit({});
    await part.close();
    await failing(() => PartFile.open(paths, { bytes: 2 ** 60, state: {} }));
    const release = await takeLock(paths.lock, { what: '', command: '', Refusal: Error });
    await failing(() => takeLock(paths.lock, { what: '', command: '', Refusal: Error }));
    await release();
    for (const writer of [arrowWriter, parquetWriter]) {
      await failing(() => writer.convert(totals, at('part'), at('converted')));
      await failing(() => writer.convert(totals, at('none'), at('converted')));
      await failing(() => writer.convert({}, at('part'), at('converted')));
    }
  },
  'a log that is unreachable': async () => {
    const journal = new JetStreamLog({ servers: ['nats://127.0.0.1:1'], name: 'x', replicas: 1 });
    await failing(() => journal.publish('x', new Uint8Array(1), 'x'));
    await journal.close();
  },
};

await prepare();
const leaves = {};
for (const [name, body] of Object.entries(cases)) {
  // What is opened once and kept, such as modules and threads' pipes, is open after the first run.
  await body();
  const before = openNow();
  for (let i = 0; i < ROUNDS; i++) await body();
  const untilMs = performance.now() + CLOSING_MS;
  while (opened(before).length > 0 && performance.now() < untilMs) await sleep(10);
  leaves[name] = opened(before);
}
const before = openNow();
for (let i = 0; i < 5; i++) {
  globalThis.gc();
  await sleep(20);
}
const after = openNow();
const collected = before.files.filter((name) => !after.files.includes(name));
console.log(JSON.stringify({ leaves, collected, warnings }));
