/** A Fastify peer in a separate process: how it is started, and what it does there. */
import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { endProcess } from '../processes.js';
import { duckdbPages } from './duckdb-pages.js';
import { servePages, type PageMakers } from './fastify-server.js';
import { postgresPages, type PostgresPlace } from './postgres-pages.js';
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

export interface FastifyProcess extends Listening {
  pid: number;
  stop(): Promise<void>;
}

/** Time limit for loading its tables and beginning to listen. */
const START_DEADLINE_MS = 120_000;
/** Threads for the database's calls and for zlib together; libuv's default is 4. */
const UV_THREADS = '8';

/** @throws Error if it does not listen in time, or ends */
export async function startFastify(order: FastifyOrder): Promise<FastifyProcess> {
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

function makersOf(order: FastifyOrder): Promise<PageMakers> {
  switch (order.database) {
    case 'duckdb':
      return duckdbPages(order.folder, order.files);
    case 'postgres':
      return postgresPages(order.place);
  }
}

async function serve(order: FastifyOrder): Promise<void> {
  const makers = await makersOf(order);
  const url = await servePages(makers, order.addresses);
  process.send?.({ url, version: makers.version } satisfies Listening);
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
