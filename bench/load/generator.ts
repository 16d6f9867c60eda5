/**
 * The bots, in a separate process: an open loop. Requests are due at a fixed rate whether or not earlier ones have been
 * answered, and a request's latency counts from the tick at which it was due: a server that stalls is charged for
 * everything that waited in the meantime. Late ticks are the generator's own fault and are reported separately.
 */
import { seededRandom } from '../compare/random.js';
import { Connection } from './connection.js';
import { latenciesOf, type Latencies } from './latencies.js';

/** The requests to send, as ordered over IPC. */
export interface LoadOrder {
  port: number;
  /** Paths to choose from at random. */
  paths: string[];
  headers: Record<string, string>;
  requestsPerSecond: number;
  connections: number;
  /** Not measured. */
  warmupMs: number;
  forMs: number;
}

export interface LoadReport {
  requests: number;
  /** Replies by status. */
  statuses: Record<string, number>;
  latencies: Latencies;
  /** How late the generator's own ticks were; not part of the latencies. */
  lateness: Latencies;
}

const TICK_MS = 1;
const SEED = 20_261;
/** Requests that may wait for a connection: with more, the server is not keeping up at all. */
const MAX_WAITING = 200_000;

interface Due {
  /** When the tick found that it was due. */
  atMs: number;
  measured: boolean;
  request: string;
}

/** Executes one order. @throws Error if a connection fails or far too much waits */
export async function generate(order: LoadOrder): Promise<LoadReport> {
  const random = seededRandom(SEED);
  const requests = order.paths.map((path) => requestText(path, order.headers));
  let fail: (error: Error) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => (fail = reject));
  const idle = await Promise.all(
    Array.from({ length: order.connections }, () => Connection.open(order.port, fail)),
  );
  const clients = [...idle];
  const waiting: Due[] = [];
  const times: number[] = [];
  const late: number[] = [];
  const statuses: Record<string, number> = {};
  const began = performance.now();
  const measuredFrom = began + order.warmupMs;
  const end = measuredFrom + order.forMs;
  let pending = 0;
  const send = (client: Connection, due: Due): void => {
    pending++;
    client.ask(due.request, (status) => {
      pending--;
      if (due.measured) {
        times.push(performance.now() - due.atMs);
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
      const next = waiting.shift();
      if (next === undefined) idle.push(client);
      else send(client, next);
    });
  };
  const run = new Promise<void>((resolve, reject) => {
    let dueAtMs = began;
    const spacingMs = 1000 / order.requestsPerSecond;
    const tick = (): void => {
      const now = performance.now();
      for (; dueAtMs <= now && dueAtMs < end; dueAtMs += spacingMs) {
        const measured = dueAtMs >= measuredFrom;
        if (measured) late.push(now - dueAtMs);
        const request = requests[Math.floor(random() * requests.length)];
        const due = { atMs: now, measured, request };
        // The connection idle for longest, because the server closes idle connections after a while.
        const client = idle.shift();
        if (client === undefined) waiting.push(due);
        else send(client, due);
      }
      if (waiting.length > MAX_WAITING) reject(new Error('the server does not keep up'));
      else if (now >= end && pending === 0) resolve();
      else setTimeout(tick, TICK_MS);
    };
    tick();
  });
  try {
    await Promise.race([run, failed]);
  } finally {
    for (const client of clients) client.close();
  }
  return {
    requests: times.length,
    statuses,
    latencies: latenciesOf(times),
    lateness: latenciesOf(late),
  };
}

/** A whole request. */
export function requestText(path: string, headers: Record<string, string>): string {
  const lines = Object.entries({ host: '127.0.0.1', ...headers });
  return `GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}
