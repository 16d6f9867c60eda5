/**
 * Bots in a separate process that send as fast as they are answered: a closed loop, for the cost of a request and the
 * resulting rate. It says nothing about latency.
 */
import { seededRandom } from '../compare/random.js';
import { requestText } from './generator.js';
import { Connection } from './connection.js';

export interface FloodOrder {
  port: number;
  /** Paths to choose from at random. */
  paths: string[];
  headers: Record<string, string>;
  connections: number;
  /** Concurrent requests per connection. */
  depth: number;
  forMs: number;
}

export interface FloodReport {
  requests: number;
  /** Replies by status. */
  statuses: Record<string, number>;
  elapsedMs: number;
}

const SEED = 7_919;

/** Executes one order; every request is answered before it ends. @throws Error if a connection fails */
export async function flood(order: FloodOrder): Promise<FloodReport> {
  const random = seededRandom(SEED);
  const texts = order.paths.map((path) => requestText(path, order.headers));
  const requests = (count: number): string =>
    Array.from({ length: count }, () => texts[Math.floor(random() * texts.length)]).join('');
  const statuses: Record<string, number> = {};
  let fail: (error: Error) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => (fail = reject));
  const connections = await Promise.all(
    Array.from({ length: order.connections }, () => Connection.open(order.port, fail)),
  );
  const began = performance.now();
  const client = (connection: Connection): Promise<void> =>
    new Promise((resolve) => {
      let pending = 0;
      const onReply = (status: number): void => {
        pending--;
        statuses[status] = (statuses[status] ?? 0) + 1;
        if (pending > 0) return;
        if (performance.now() - began >= order.forMs) resolve();
        else ask();
      };
      const ask = (): void => {
        pending = order.depth;
        connection.ask(requests(order.depth), onReply);
      };
      ask();
    });
  try {
    await Promise.race([Promise.all(connections.map(client)), failed]);
  } finally {
    for (const connection of connections) connection.close();
  }
  const replies = Object.values(statuses).reduce((sum, count) => sum + count, 0);
  return { requests: replies, statuses, elapsedMs: performance.now() - began };
}
