/** Fastify with DuckDB and with PostgreSQL, each in a separate process: how it is started, and what it does there. */
import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { readFileSync } from 'node:fs';
import { endProcess, treeCpuMs } from '../processes.js';
import { duckdbPages } from './duckdb-pages.js';
import { servePages, type PageMaker } from './fastify-server.js';
import { parsedJson, type PlainSnapshot } from './content.js';
import type { Peer, PeerPlace, PeerWay } from './peer.js';
import { postgresPages, type PostgresPlace } from './postgres-pages.js';
import { startPostgres } from './postgres-server.js';
import type { TableFiles } from './tables.js';

type FastifyOrder = { addresses: readonly string[] } & (
  | { database: 'duckdb'; folder: string; files: TableFiles }
  | { database: 'postgres'; place: PostgresPlace }
);

interface Listening {
  url: string;
  /** Version of the database. */
  version: string;
}

interface FastifyProcess extends Listening {
  pid: number;
  stop(): Promise<void>;
}

/** Time limit for loading its tables and beginning to listen. */
const START_DEADLINE_MS = 120_000;
/** Threads for the database's calls and for zlib together; libuv's default is 4. */
const UV_THREADS = '8';

function wayOf(name: string): PeerWay {
  return {
    name,
    state: 'cold',
    coding: 'JSON, gzip 1',
    contentCoding: 'gzip',
    pathOf: ({ address, from, to }) => `/${address}?from=${from}&to=${to}`,
    snapshotsOf: (body) => (parsedJson(body) as { snapshots: PlainSnapshot[] }).snapshots,
  };
}

export async function startFastifyDuckdb({ folder, files, set }: PeerPlace): Promise<Peer> {
  const addresses = set.histories.map(({ run }) => run.address);
  const fastify = await startFastify({ database: 'duckdb', addresses, folder, files });
  return {
    name: 'Fastify + DuckDB',
    version: `${fastifyVersion()}, DuckDB ${fastify.version}`,
    url: fastify.url,
    headers: {},
    ways: [wayOf('JSON by SQL')],
    cpuMs: () => treeCpuMs(fastify.pid),
    stop: () => fastify.stop(),
  };
}

/** @throws NotRunError if PostgreSQL is not installed or can't run here */
export async function startFastifyPostgres({ folder, files, set }: PeerPlace): Promise<Peer> {
  const postgres = await startPostgres(folder, files);
  const addresses = set.histories.map(({ run }) => run.address);
  const order = { database: 'postgres', addresses, place: postgres.place } as const;
  const fastify = await startFastify(order).catch(async (error: unknown) => {
    await postgres.stop();
    throw error;
  });
  return {
    name: 'Fastify + PostgreSQL',
    version: `${fastifyVersion()}, PostgreSQL ${fastify.version}`,
    url: fastify.url,
    headers: {},
    ways: [wayOf('array_agg')],
    cpuMs() {
      const [own, ofDatabase] = [treeCpuMs(fastify.pid), treeCpuMs(postgres.pid)];
      return own === null || ofDatabase === null ? null : own + ofDatabase;
    },
    async stop() {
      await fastify.stop();
      await postgres.stop();
    },
  };
}

function fastifyVersion(): string {
  const file = new URL(import.meta.resolve('fastify/package.json'));
  return `Fastify ${(JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version}`;
}

/** @throws Error if it does not listen in time, or ends */
async function startFastify(order: FastifyOrder): Promise<FastifyProcess> {
  const child = fork(fileURLToPath(import.meta.url), {
    env: { ...process.env, NODE_ENV: 'production', UV_THREADPOOL_SIZE: UV_THREADS },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  try {
    const listening = await answerOf(child, order);
    return { ...listening, pid: child.pid as number, stop: () => endProcess(child, 'SIGKILL', 0) };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

function answerOf(child: ChildProcess, order: FastifyOrder): Promise<Listening> {
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => {
      clearTimeout(timer);
      reject(new Error(`Fastify with ${order.database} ${why}`));
    };
    const timer = setTimeout(() => fail('did not listen in time'), START_DEADLINE_MS);
    child.once('exit', () => fail('ended'));
    child.once('message', (answer: Listening) => {
      clearTimeout(timer);
      resolve(answer);
    });
    child.send(order);
  });
}

function makerOf(order: FastifyOrder): Promise<PageMaker> {
  switch (order.database) {
    case 'duckdb':
      return duckdbPages(order.folder, order.files);
    case 'postgres':
      return postgresPages(order.place);
  }
}

async function serve(order: FastifyOrder): Promise<void> {
  const maker = await makerOf(order);
  const url = await servePages(maker, order.addresses);
  process.send?.({ url, version: maker.version } satisfies Listening);
}

if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) {
  // It must not outlive the bench.
  process.once('disconnect', () => process.exit());
  process.once('message', (order: FastifyOrder) => {
    void serve(order).catch((error) => {
      console.error(error);
      process.exit(1);
    });
  });
}
