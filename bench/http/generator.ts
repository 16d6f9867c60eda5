/**
 * The bots, in a separate process. At a rate they are an open loop: requests are due whether or not earlier ones have
 * been answered, and a request's latency counts from the tick at which it was due: a server that stalls is charged for
 * everything that waited in the meantime. Late ticks are the generator's own fault and are reported separately.
 * Without a rate they send as fast as they are answered: for the cost of a request, not for its latency.
 */
import { percentile } from '../case.js';
import { seededRandom } from '../random.js';
import { Connection } from './connection.js';

/** The requests to send, as ordered over IPC. */
export interface BotsOrder {
  port: number;
  /** Paths to choose from at random. */
  paths: string[];
  headers: Record<string, string>;
  connections: number;
  /** Due per second; null: each connection sends `depth` at once as soon as all earlier ones are answered. */
  requestsPerSecond: number | null;
  depth?: number;
  /** Not measured. */
  warmupMs: number;
  forMs: number;
}

export interface BotsReport {
  requests: number;
  /** Replies by status. */
  statuses: Record<string, number>;
  elapsedMs: number;
  latencies: Latencies;
  /** How late the generator's own ticks were, 99th percentile; not part of the latencies. */
  lateP99Ms: number | null;
}

/** Milliseconds until a reply was complete. */
export interface Latencies {
  p50Ms: number;
  p90Ms: number;
  p99Ms: number;
  p999Ms: number;
  maxMs: number;
}

/** @param times not empty */
export function latenciesOf(times: Iterable<number>): Latencies {
  const sorted = Float64Array.from(times).sort();
  return {
    p50Ms: percentile(sorted, 0.5),
    p90Ms: percentile(sorted, 0.9),
    p99Ms: percentile(sorted, 0.99),
    p999Ms: percentile(sorted, 0.999),
    maxMs: sorted[sorted.length - 1],
  };
}

const TICK_MS = 1;
const SEED = 20_261;
/** Requests that may wait for a connection: with more, the server is not keeping up at all. */
const MAX_WAITING = 200_000;

interface Due {
  /** When the tick found that it was due. */
  atMs: number;
  isMeasured: boolean;
  request: string;
}

/** Executes one order. @throws Error if a connection fails or far too much waits */
export async function sendBots(order: BotsOrder): Promise<BotsReport> {
  const random = seededRandom(SEED);
  const texts = order.paths.map((path) => requestText(path, order.headers));
  const next = (): string => texts[Math.floor(random() * texts.length)];
  let fail: (error: Error) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => (fail = reject));
  const connections = await Promise.all(
    Array.from({ length: order.connections }, () => Connection.open(order.port, fail)),
  );
  const measuredFrom = performance.now() + order.warmupMs;
  const found: Found = { times: [], late: [], statuses: {}, measuredFrom };
  const { requestsPerSecond, depth = 1 } = order;
  const end = measuredFrom + order.forMs;
  const run =
    requestsPerSecond === null
      ? flood(connections, () => Array.from({ length: depth }, next), end, found)
      : openLoop(connections, next, 1000 / requestsPerSecond, end, found);
  try {
    await Promise.race([run, failed]);
  } finally {
    for (const connection of connections) connection.close();
  }
  return {
    requests: found.times.length,
    statuses: found.statuses,
    elapsedMs: performance.now() - measuredFrom,
    latencies: latenciesOf(found.times),
    lateP99Ms: found.late.length === 0 ? null : latenciesOf(found.late).p99Ms,
  };
}

interface Found {
  times: number[];
  late: number[];
  statuses: Record<string, number>;
  readonly measuredFrom: number;
}

function note({ times, statuses }: Found, status: number, atMs: number): void {
  times.push(performance.now() - atMs);
  statuses[status] = (statuses[status] ?? 0) + 1;
}

/** Sends one request every `spacingMs`. */
function openLoop(
  clients: readonly Connection[],
  next: () => string,
  spacingMs: number,
  end: number,
  found: Found,
): Promise<void> {
  const idle = [...clients];
  const waiting: Due[] = [];
  let pending = 0;
  const send = (client: Connection, { atMs, isMeasured, request }: Due): void => {
    pending++;
    client.ask(request, (status) => {
      pending--;
      if (isMeasured) note(found, status, atMs);
      const due = waiting.shift();
      if (due === undefined) idle.push(client);
      else send(client, due);
    });
  };
  return new Promise<void>((resolve, reject) => {
    let dueAtMs = performance.now();
    const tick = (): void => {
      const now = performance.now();
      for (; dueAtMs <= now && dueAtMs < end; dueAtMs += spacingMs) {
        const isMeasured = dueAtMs >= found.measuredFrom;
        if (isMeasured) found.late.push(now - dueAtMs);
        const due = { atMs: now, isMeasured, request: next() };
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
}

/** Sends the next requests of each connection at once, as soon as all earlier ones are answered. */
async function flood(
  clients: readonly Connection[],
  next: () => string[],
  end: number,
  found: Found,
): Promise<void> {
  const client = (connection: Connection): Promise<void> =>
    new Promise((resolve) => {
      const ask = (): void => {
        const requests = next();
        const atMs = performance.now();
        let pending = requests.length;
        connection.ask(requests.join(''), (status) => {
          if (atMs >= found.measuredFrom) note(found, status, atMs);
          if (--pending > 0) return;
          if (performance.now() >= end) resolve();
          else ask();
        });
      };
      ask();
    });
  await Promise.all(clients.map(client));
}

/** A whole request. */
export function requestText(path: string, headers: Record<string, string>): string {
  const lines = Object.entries({ host: '127.0.0.1', ...headers });
  return `GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}
