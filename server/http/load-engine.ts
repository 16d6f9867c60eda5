/** Which engine the server gets. */
import type { Log } from '../log.js';
import type { EngineName, HttpEngine } from './engine.js';

/** Loads an engine; where uWebSockets.js does not load, Node's own takes its place. */
export async function loadEngine(name: EngineName, log: Log): Promise<HttpEngine> {
  if (name === 'uws') {
    try {
      return (await import('./uws.js')).uwsEngine;
    } catch (error) {
      log.warn("uWebSockets.js does not load here: Node's own HTTP takes its place", {
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
