/** The service: its routes over one store, one pool and one clock. */
import { randomUUID } from 'node:crypto';
import type { ComputePool } from '../compute/pool.js';
import type { DepthSource, KeySource } from '../storage/seams.js';
import { requireKey } from './auth.js';
import type { Clock } from './clock.js';
import { Budget } from './http/budget.js';
import { createRouter, type Route } from './http/router.js';
import { HTTP_LIMITS, startHttpServer, type HttpLimits } from './http/server.js';
import type { Log } from './log.js';
import { replayHandler } from './replay/handler.js';

export const BASE_PATH = '/api/v1';

export interface ServerOptions {
  depth: DepthSource;
  keys: KeySource;
  /** Stays the caller's: closing the server does not close it. */
  pool: ComputePool;
  clock: Clock;
  /** An address or a name of this machine. */
  host: string;
  /** 0 for any free one. */
  port: number;
  log: Log;
  limits?: HttpLimits;
}

export interface RunningServer {
  url: string;
  port: number;
  /** Stops listening, lets requests in progress end within a deadline, then cuts them. Idempotent. */
  close(): Promise<void>;
}

/**
 * Starts the service and logs its URL once it listens.
 * @throws Error that names port and host where they can't be had
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { host, log, limits = HTTP_LIMITS } = options;
  const router = createRouter(routesOf(options), log);
  const server = await startHttpServer(host, options.port, router, log, limits);
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${server.port}`;
  log.info('listening', { url });
  return { url, port: server.port, close: () => server.close() };
}

function routesOf({ depth, keys, pool, clock }: ServerOptions): Route[] {
  const pagesInWork = new Budget(pool.capacity);
  // A run of the service has one store; that a later run has the same one is not known.
  const storeTag = randomUUID();
  return [
    requireKey(keys, {
      method: 'GET',
      path: `${BASE_PATH}/replay/:address`,
      handle: replayHandler({ depth, pool, clock, pagesInWork, storeTag }),
    }),
  ];
}
