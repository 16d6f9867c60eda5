/** Clients for which an engine waits longer than its own 10 seconds. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadEngine } from '../../server/http/load-engine.js';
import { createRouter, type Route } from '../../server/http/router.js';
import { HTTP_LIMITS, type HttpServer, startHttpServer } from '../../server/http/server.js';
import { loggerInto } from '../support/logger.js';
import { RawClient, requestText } from '../support/raw-client.js';
import { eventually } from '../support/waiting.js';
import { ENGINES } from '../support/engines.js';

const BIG = new Uint8Array(48 * 1024 * 1024);
/** More than the kernel's buffers hold. */
const STREAMED = BIG.subarray(0, 12 * 1024 * 1024);
/** Bytes that mean nothing to the client of a stream. */
const NOTHING = Buffer.from('\n');
/** The longest time between two heartbeats of a live connection. */
const HEARTBEAT_MS = 6_000;
const logger = loggerInto([]);
const routes: Route[] = [
  {
    method: 'GET',
    path: '/big',
    handle: ({ exchange }) => exchange.reply(200, [['Content-Type', 'test']], BIG),
  },
  {
    method: 'GET',
    path: '/stream',
    handle({ exchange }) {
      const stream = exchange.stream([], NOTHING, () => undefined);
      let messages = 0;
      const timer = setInterval(() => {
        stream?.write(Buffer.from(`message ${++messages}\n`));
        if (messages === 3) clearInterval(timer);
      }, HEARTBEAT_MS);
      exchange.onGone(() => clearInterval(timer));
    },
  },
  {
    method: 'GET',
    path: '/big-stream',
    handle: ({ exchange }) => exchange.stream([], NOTHING, () => undefined)?.write(STREAMED),
  },
];

describe.concurrent.each(ENGINES)('engine %s waits for clients that', (name) => {
  let server: HttpServer;
  beforeAll(async () => {
    server = await startHttpServer({
      engine: await loadEngine(name, logger),
      host: '127.0.0.1',
      port: 0,
      handle: createRouter(routes, logger),
      logger,
      limits: { ...HTTP_LIMITS, maxKeylessBytesInFlight: 2 * BIG.length },
    });
  });
  afterAll(() => server.close());

  it.each([
    ['/big', BIG],
    ['/big-stream', STREAMED],
  ])(
    'read %s slowly: they are served, even if a pause exceeds its 10 s',
    async (path, { length }) => {
      const client = await RawClient.connect(server.port);
      client.socket.pause();
      client.send(requestText(`GET ${path}`));
      await eventually('the reply is on its way', () => server.live > 0);
      await new Promise((resolve) => setTimeout(resolve, 14_500));
      client.socket.resume();
      await eventually('the whole body came', () => client.receivedBytes > length);
      client.socket.destroy();
    },
  );

  it('read a stream in which a message comes as often as heartbeats do', async () => {
    const client = await RawClient.connect(server.port);
    client.send(requestText('GET /stream'));
    await eventually('the third message', () => client.received.includes('message 3'));
    client.socket.destroy();
  });

  it.each([
    ['half a request', 'GET /nowhere HTTP/1.1\r\nHo'],
    // Some builds of uWebSockets.js also wait for the end of such a request.
    ['invalid header characters', requestText('GET /nowhere', { 'X-Invalid[]': 'a' })],
  ])('send %s: they are cut off', async (_, text) => {
    const client = await RawClient.connect(server.port);
    client.send(text);
    await client.closed;
    expect(client.received.toString()).toMatch(/^(HTTP\/1\.1 4\d\d [^]*)?$/);
  });
});
