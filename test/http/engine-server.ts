/** A server of a few routes, on each of the HTTP engines. */
import { afterAll, beforeAll, describe } from 'vitest';
import type { EngineName } from '../../server/http/engine.js';
import { loadEngine } from '../../server/http/load-engine.js';
import { createRouter, type Route } from '../../server/http/router.js';
import { HTTP_LIMITS, type HttpServer, startHttpServer } from '../../server/http/server.js';
import { StoreUnavailableError } from '../../storage/errors.js';
import { loggerInto } from '../support/logger.js';
import type { RawClient } from '../support/raw-client.js';
import { ENGINES } from '../support/engines.js';

/** More than the buffers at both ends of a connection hold. */
export const BIG_BYTES = 20 * 1024 * 1024;
/** Bytes that reveal their position in the body. */
export const big = new Uint8Array(
  new Uint32Array(BIG_BYTES / 4).map((_, i) => i * 2_654_435_761).buffer,
);

export const logged: string[] = [];
const logger = loggerInto(logged);

/** What the routes have seen. */
export const seen = {
  /** Continues requests to /held. */
  held: [] as (() => void)[],
  /** The flags of these requests. */
  cancels: [] as Int32Array[],
  /** The last body of /once. */
  onceBody: new Uint8Array(),
};

/** Lets all requests to /held continue. */
export function release(): void {
  seen.held.forEach((resume) => resume());
  seen.held = [];
  seen.cancels = [];
}

const routes: Route[] = [
  {
    method: 'GET',
    path: '/big',
    handle: ({ exchange }) => exchange.reply(200, [['Content-Type', 'test']], big),
  },
  {
    method: 'GET',
    path: '/permanent',
    handle: ({ exchange }) => exchange.reply(200, [['Content-Type', 'test']], big, 'permanent'),
  },
  {
    method: 'GET',
    path: '/once/:bytes',
    handle: ({ exchange, params }) => {
      seen.onceBody = big.slice(0, Number(params.bytes));
      exchange.reply(200, [['Content-Type', 'test']], seen.onceBody, 'once');
    },
  },
  {
    method: 'GET',
    path: '/keyed/:key',
    handle: ({ exchange, params }) => {
      exchange.belongsTo(params.key);
      exchange.reply(200, [['Content-Type', 'test']], big);
    },
  },
  {
    method: 'GET',
    path: '/held',
    handle: async ({ exchange }) => {
      seen.cancels.push(exchange.cancel);
      await new Promise<void>((resolve) => seen.held.push(resolve));
      exchange.replyJson(200, { held: true });
    },
  },
  {
    method: 'GET',
    path: '/echo/:first/of/:second',
    handle: ({ exchange, params }) => exchange.replyJson(200, { ...params, query: exchange.query }),
  },
  {
    method: 'GET',
    path: '/throws',
    handle: () => {
      throw new Error('a secret of the house');
    },
  },
  {
    method: 'GET',
    path: '/rejects',
    handle: async () => {
      await Promise.resolve();
      throw new Error('a secret of the house');
    },
  },
  {
    method: 'GET',
    path: '/unavailable',
    handle: () => {
      throw new StoreUnavailableError('the database is being reopened');
    },
  },
  { method: 'GET', path: '/nothing', handle: ({ exchange }) => exchange.reply(304, [], null) },
  {
    method: 'POST',
    path: '/body',
    maxBodyBytes: 1000,
    handle: async ({ exchange, readBody }) => {
      const bytes = await readBody();
      exchange.replyJson(200, { text: Buffer.from(bytes).toString() });
    },
  },
];

const startWith = async (name: EngineName, limits = {}) =>
  startHttpServer({
    engine: await loadEngine(name, logger),
    host: '127.0.0.1',
    port: 0,
    handle: createRouter(routes, logger),
    logger,
    keepsBody: () => true,
    // With one, the server listens for requests to upgrade.
    socketPath: '/socket',
    limits: { ...HTTP_LIMITS, maxKeylessBytesInFlight: 4 * BIG_BYTES, ...limits },
  });

interface EngineServer {
  readonly name: EngineName;
  /** A server for all tests of a file. */
  server: HttpServer;
  url: string;
  /** Starts another one. */
  start(limits?: Partial<typeof HTTP_LIMITS>): Promise<HttpServer>;
}

/** Defines the same tests for each engine. */
export function describeEngines(define: (engine: EngineServer) => void): void {
  describe.each(ENGINES)('engine %s', (name) => {
    const engine = {
      name,
      start: (limits = {}) => startWith(name, limits),
    } as EngineServer;
    beforeAll(async () => {
      engine.server = await engine.start();
      engine.url = `http://127.0.0.1:${engine.server.port}`;
    });
    afterAll(async () => {
      release();
      await engine.server.close();
    });
    define(engine);
  });
}

/** No server is sent more than this. */
const MAX_SENT_BYTES = 64 * 1024 * 1024;

/** Sends as much as the connection accepts, until the server closes it. */
export async function sendUntilClosed(client: RawClient, text: string): Promise<void> {
  while (!client.socket.closed) {
    if (client.socket.bytesWritten > MAX_SENT_BYTES) throw new Error('the connection stayed open');
    if (client.socket.writableLength < 2 ** 20) client.send(text);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
