/** Replies whose end is not known yet. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ReplyStream } from '../../server/http/outlet.js';
import { loadEngine } from '../../server/http/load-engine.js';
import { createRouter, type Route } from '../../server/http/router.js';
import { HTTP_LIMITS, type HttpServer, startHttpServer } from '../../server/http/server.js';
import { loggerInto } from '../support/logger.js';
import { RawClient, requestText } from '../support/raw-client.js';
import { eventually } from '../support/waiting.js';
import { ENGINES } from '../support/engines.js';

/** More than the buffers at both ends of a connection hold. */
const BIG = new Uint8Array(20 * 1024 * 1024).fill(65);
const FILLER = Buffer.from('\n');
const logger = loggerInto([]);
let stream: ReplyStream | null = null;
let rooms = 0;
const routes: Route[] = [
  {
    method: 'GET',
    path: '/stream',
    handle({ exchange }) {
      stream = exchange.stream([], FILLER, () => rooms++);
    },
  },
];

describe.each(ENGINES)('a stream of engine %s', (name) => {
  let server: HttpServer;
  beforeAll(async () => {
    server = await startHttpServer({
      engine: await loadEngine(name, logger),
      host: '127.0.0.1',
      port: 0,
      handle: createRouter(routes, logger),
      logger,
      limits: HTTP_LIMITS,
    });
  });
  afterAll(() => server.close());

  it('sends all that waits as the client reads, without another write', async () => {
    [stream, rooms] = [null, 0];
    const client = await RawClient.connect(server.port);
    client.socket.pause();
    client.send(requestText('GET /stream'));
    await eventually('the stream is open', () => stream !== null);
    const open = stream as unknown as ReplyStream;
    open.write(BIG);
    expect(open.waitingBytes).toBeGreaterThan(BIG.byteLength / 2);
    client.socket.resume();
    await eventually('all has come', () => client.receivedBytes > BIG.byteLength);
    await eventually('nothing waits', () => open.waitingBytes === 0 && rooms > 0);
    const letters = client.received.reduce((sum, byte) => sum + (byte === 65 ? 1 : 0), 0);
    expect(letters).toBeGreaterThanOrEqual(BIG.byteLength);
    client.socket.destroy();
  });
});
