/** A client that reads one large reply slowly, but all of it, beside one that reads nothing. */
import { expect, describe, it } from 'vitest';
import { loadEngine } from '../../server/http/load-engine.js';
import { createRouter, type Route } from '../../server/http/router.js';
import { HTTP_LIMITS, startHttpServer } from '../../server/http/server.js';
import { ENGINES } from '../support/engines.js';
import { NO_LOGGER } from '../support/logger.js';
import { RawClient, requestText } from '../support/raw-client.js';
import { eventually } from '../support/waiting.js';

/** Bytes that reveal their position in the body. */
const BODY = new Uint8Array(
  new Uint32Array(12 * 2 ** 20).map((_, i) => Math.imul(i, 2_654_435_761)).buffer,
);
/**
 * The kernel reports what a client takes once a third of its send buffer is free, up to 1.4 MiB, and Node's engine looks
 * once a second: the slow client shows its progress several times in `stallLimitMs`.
 */
const READ_BYTES_PER_MS = 6 * 2 ** 10;
const LIMITS = { ...HTTP_LIMITS, stallLimitMs: 3_000, maxKeylessBytesInFlight: 2 * BODY.length };
const PAUSE_MS = 20;
const routes: Route[] = [
  { method: 'GET', path: '/big', handle: ({ exchange }) => exchange.reply(200, [], BODY) },
];

describe.concurrent.each(ENGINES)('engine %s', (name) => {
  it('sends every byte to a client that reads for longer than a stalled one may wait, and cuts one that reads nothing', async () => {
    const server = await startHttpServer({
      engine: await loadEngine(name, NO_LOGGER),
      host: '127.0.0.1',
      port: 0,
      handle: createRouter(routes, NO_LOGGER),
      logger: NO_LOGGER,
      limits: LIMITS,
    });
    const [slow, idle] = await Promise.all([
      RawClient.connect(server.port),
      RawClient.connect(server.port),
    ]);
    idle.socket.pause();
    const beganMs = performance.now();
    const readOn = (): void => {
      const mayHaveRead = (performance.now() - beganMs) * READ_BYTES_PER_MS;
      if (slow.receivedBytes > mayHaveRead) {
        slow.socket.pause();
        setTimeout(readOn, PAUSE_MS);
      } else slow.socket.resume();
    };
    slow.socket.on('data', readOn);
    for (const client of [slow, idle])
      client.send(requestText('GET /big', { Connection: 'close' }));
    await eventually('both replies are on their way', () => server.live === 2);
    await eventually('one of them is over', () => server.live < 2);
    const cutAfterMs = performance.now() - beganMs;
    await slow.closed;
    const readForMs = performance.now() - beganMs;
    const start = slow.received.indexOf('\r\n\r\n') + 4;
    expect(Buffer.compare(slow.received.subarray(start), BODY)).toBe(0);
    expect(cutAfterMs).toBeGreaterThanOrEqual(LIMITS.stallLimitMs);
    expect(readForMs).toBeGreaterThan(2 * LIMITS.stallLimitMs);
    idle.socket.resume();
    await idle.closed;
    expect(idle.receivedBytes).toBeLessThan(BODY.length);
    await eventually('nothing is in flight', () => server.bytesInFlight === 0);
    await server.close();
  });
});
