/**
 * Chooses the server's HTTP engine, and checks it for a known fault: builds of uWebSockets.js for Node 20 reply 505 to
 * a request line that arrives in two pieces, and hang on invalid header characters.
 */
import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from '../logger.js';
import type { EngineName, HttpEngine } from './engine.js';
import { startHttpServer } from './server.js';

/** Deadline of the check. */
const DEADLINE_MS = 2_000;

/** Loads an engine. If uWebSockets.js does not load, Node's own HTTP takes its place. */
export async function loadEngine(name: EngineName, logger: Logger): Promise<HttpEngine> {
  if (name === 'uws') {
    try {
      return (await import('./uws.js')).uwsEngine;
    } catch (error) {
      logger.warn("uWebSockets.js does not load here: Node's own HTTP takes its place", {
        node: process.version,
        platform: `${process.platform}-${process.arch}`,
        cause: lastLine(error),
      });
    }
  }
  return (await import('./node-http.js')).nodeEngine;
}

function lastLine(error: unknown): string {
  return String(error).trimEnd().split('\n').at(-1) ?? '';
}

/** Logs a warning if the engine has the fault. Never rejects: a check that cannot run finds no fault. */
export async function warnOfFault(engine: HttpEngine, logger: Logger): Promise<void> {
  if (await takesSplitRequestLine(engine, logger).catch(() => true)) return;
  logger.warn(
    'this build of the HTTP engine refuses a request line that arrives in pieces: run Node 24, --http-engine node, or nginx or HAProxy in front',
    { http_engine: engine.name, node: process.version },
  );
}

/** Whether the engine accepts a request line that arrives in two pieces, tested on a temporary port. */
export async function takesSplitRequestLine(engine: HttpEngine, logger: Logger): Promise<boolean> {
  const server = await startHttpServer({
    engine,
    host: '127.0.0.1',
    port: 0,
    handle: (exchange) => exchange.replyJson(200, 'ok'),
    logger,
  });
  const socket = connect({ port: server.port, host: '127.0.0.1', noDelay: true });
  try {
    const reply = new Promise<string>((resolve, reject) => {
      socket.setTimeout(DEADLINE_MS, () => reject(new Error('no reply')));
      socket.once('data', (data) => resolve(data.toString('latin1')));
      socket.once('error', reject);
      socket.once('close', () => reject(new Error('no reply')));
    });
    reply.catch(() => undefined);
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    socket.write('GET / HT');
    // The engine reads between turns of the event loop: what is written later is another piece.
    for (let turn = 0; turn < 3; turn++) await nextTurn();
    socket.write('TP/1.1\r\nHost: fathom\r\n\r\n');
    return (await reply).startsWith('HTTP/1.1 200 ');
  } finally {
    socket.destroy();
    await server.close();
  }
}
