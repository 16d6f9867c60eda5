/** The HTTP server: accepts requests, bounds the bytes of their replies, and drains when it closes. */
import { randomBytes } from 'node:crypto';
import { withDeadline } from '../../compute/running-time.js';
import type { Logger } from '../logger.js';
import { DEFAULT_SHARES } from '../memory.js';
import { BytesInFlight, type BytesInFlightLimits } from './budget.js';
import type { ConnectionLimit } from './connection-limit.js';
import type { HttpEngine } from './engine.js';
import type { Exchange, ExchangeHost } from './exchange.js';

export interface HttpLimits extends BytesInFlightLimits {
  /** A client that reads its reply more slowly than `leastBytesPerS` over this time is cut off. */
  stallLimitMs: number;
  leastBytesPerS: number;
  /** Closing waits this long for requests in progress. */
  drainLimitMs: number;
}

/** The limits of a server whose unread replies may take `replyBytes` of memory. */
export function httpLimits(replyBytes: number): HttpLimits {
  const keyless = Math.floor(replyBytes / 8);
  return {
    maxBytesInFlight: replyBytes - keyless,
    // A page of 100,000 cells as plain JSON, 5 MB, has to fit.
    maxBytesInFlightPerKey: Math.floor(replyBytes / 3),
    maxKeylessBytesInFlight: keyless,
    stallLimitMs: 30_000,
    leastBytesPerS: 512,
    drainLimitMs: 10_000,
  };
}

export const HTTP_LIMITS: Readonly<HttpLimits> = httpLimits(DEFAULT_SHARES.replies);

/** A client must have stalled this long before it is cut to make room for others. */
const MIN_STALL_MS = 1000;

/**
 * Requests that one turn of the event loop answers; further ones wait for the next turn. If their clients then pipeline
 * more, the engine cuts them, because an earlier request of the connection is in progress.
 */
const MAX_REQUESTS_PER_TURN = 500;

export interface HttpServer {
  port: number;
  /** Requests in progress. */
  readonly live: number;
  /** Bytes of replies that clients have yet to read. */
  readonly bytesInFlight: number;
  /** Stops listening, waits for requests in progress, then cuts the rest. Idempotent. */
  close(): Promise<void>;
}

interface HttpServerOptions {
  engine: HttpEngine;
  host: string;
  port: number;
  /** Gets every request. */
  handle: (exchange: Exchange) => void;
  logger: Logger;
  limits?: HttpLimits;
  connections?: ConnectionLimit;
  /** The path on which a request may ask for a WebSocket. */
  socketPath?: string;
  /** Whether the body of a request that waits for the next turn may be kept; default: none is. */
  keepsBody?: (exchange: Exchange) => boolean;
  /** Gets every request when its reply was sent in full, or abandoned. */
  onRequestEnd?: (exchange: Exchange) => void;
}

/**
 * Listens and hands every request to `handle`.
 * @throws Error if it cannot listen on the address
 */
export async function startHttpServer({
  engine,
  host,
  port,
  handle,
  logger,
  limits = HTTP_LIMITS,
  connections,
  socketPath,
  keepsBody = () => false,
  onRequestEnd = () => undefined,
}: HttpServerOptions): Promise<HttpServer> {
  /** Requests in progress. */
  let live = 0;
  /** Those of them that were not over when their handler returned. */
  const waiting = new Set<Exchange>();
  let closing: Promise<void> | null = null;
  let whenIdle = () => {};
  const exchanges: ExchangeHost = {
    nextId: requestIds(),
    bytesInFlight: new BytesInFlight(limits),
    stallLimitMs: limits.stallLimitMs,
    leastBytesPerS: limits.leastBytesPerS,
    cutSlowest: (isKeyless) => cutSlowest(waiting, isKeyless),
    closing: () => closing !== null,
    onEnd(exchange) {
      live--;
      waiting.delete(exchange);
      onRequestEnd(exchange);
      if (live === 0) whenIdle();
    },
  };
  let inTurn = 0;
  const onRequest = (exchange: Exchange) => {
    live++;
    if (inTurn === 0) setImmediate(() => (inTurn = 0));
    if (++inTurn <= MAX_REQUESTS_PER_TURN) {
      handle(exchange);
      if (!exchange.isOver) waiting.add(exchange);
      return;
    }
    waiting.add(exchange);
    exchange.postpone(exchange.method === 'POST' && keepsBody(exchange));
    setImmediate(() => {
      if (!exchange.aborted) handle(exchange);
    });
  };
  const listener = await engine.listen({
    host,
    port,
    exchanges,
    onRequest,
    connections,
    socketPath,
  });
  const drain = async () => {
    listener.stopListening();
    if (live > 0) {
      const idle = new Promise<void>((resolve) => (whenIdle = resolve));
      await withDeadline(idle, limits.drainLimitMs, 'drain').catch(() => undefined);
    }
    if (live > 0) logger.error('requests were cut off when the server stopped', { count: live });
    listener.close();
  };
  return {
    port: listener.port,
    get live() {
      return live;
    },
    get bytesInFlight() {
      return exchanges.bytesInFlight.taken;
    },
    close: () => (closing ??= drain()),
  };
}

/** Cuts the reply that has gone longest without progress, MIN_STALL_MS at least; false: there is none. */
function cutSlowest(waiting: ReadonlySet<Exchange>, isKeyless: boolean): boolean {
  let slowest: Exchange | null = null;
  let stalledMs = MIN_STALL_MS;
  for (const exchange of waiting) {
    const makesRoom = exchange.isCounted && exchange.isKeyless === isKeyless;
    if (!makesRoom || exchange.stalledMs < stalledMs) continue;
    slowest = exchange;
    ({ stalledMs } = exchange);
  }
  slowest?.abandon();
  return slowest !== null;
}

/** Ids that are unique across processes: a random prefix per process, and a count. */
function requestIds(): () => string {
  const prefix = randomBytes(6).toString('hex');
  let count = 0;
  return () => `${prefix}-${(++count).toString(36)}`;
}
