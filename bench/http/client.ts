/** HTTP clients that send requests in sequence over persistent connections. */
import http from 'node:http';

/** Time for a complete reply. */
const REQUEST_DEADLINE_MS = 120_000;

/** A series of GETs: the path of request number `n`, and the common headers. */
export interface Target {
  url: string;
  pathOf: (n: number) => string;
  headers: Record<string, string>;
  /** Additional headers of request number `n`. */
  headersOf?: (n: number) => Record<string, string>;
  /** The status that every reply must have. */
  status: number;
}

interface Reply {
  status: number;
  encoding: string;
  body: Buffer;
}

/** Times of the replies, ascending, and their total bytes. */
export interface LoadResult {
  sortedMs: Float64Array;
  elapsedMs: number;
  bytes: number;
}

/** One of a server's metrics by its name, with its labels; 0 if it has none of that name yet. */
export async function metricOf(url: string, name: string): Promise<number> {
  const line = `\n${await (await fetch(`${url}/metrics`)).text()}`.split(`\n${name} `)[1] ?? '0';
  return Number.parseFloat(line);
}

/** How many replay pages a server has answered from fragments, by its own count. */
export const pagesFromFragments = (url: string): Promise<number> =>
  metricOf(url, 'fathom_pages_total{source="fragments"}');

/**
 * Runs `clients` clients for `forMs`; each sends its next request as soon as its reply is complete.
 * @param requests if given, they send this many in total, however long that takes
 * @throws Error if a reply fails or has an unexpected status
 */
export async function load(
  target: Target,
  clients: number,
  forMs: number,
  requests = Infinity,
): Promise<LoadResult> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: clients });
  const times: number[] = [];
  let bytes = 0;
  let next = 0;
  const began = performance.now();
  const client = async (): Promise<void> => {
    while (requests === Infinity || next < requests) {
      const before = performance.now();
      const { body } = await get(agent, target, next++);
      times.push(performance.now() - before);
      bytes += body.length;
      if (requests === Infinity && performance.now() - began >= forMs) break;
    }
  };
  try {
    await Promise.all(Array.from({ length: clients }, client));
  } finally {
    agent.destroy();
  }
  const elapsedMs = performance.now() - began;
  return { sortedMs: Float64Array.from(times).sort(), elapsedMs, bytes };
}

/**
 * Requests the same pages from several servers by turns, one at a time, for `forMs`: what else the machine does meets all of
 * them. @returns of each server, the times of its replies in order, and their total bytes
 * @throws Error if a reply fails, or if the servers' bodies differ
 */
export async function loadInTurns(
  targets: readonly Target[],
  forMs: number,
): Promise<{ times: number[]; bytes: number }[]> {
  const agent = new http.Agent({ keepAlive: true });
  const loads = targets.map((target) => ({ target, times: [] as number[], bytes: 0 }));
  const began = performance.now();
  try {
    for (let n = 0; n === 0 || performance.now() - began < forMs; n++) {
      let first: Buffer | null = null;
      // Each goes first at another request.
      for (let i = 0; i < loads.length; i++) {
        const load = loads[(n + i) % loads.length];
        const before = performance.now();
        const { body } = await get(agent, load.target, n);
        load.times.push(performance.now() - before);
        load.bytes += body.length;
        first ??= body;
        if (!body.equals(first)) throw new Error(`${load.target.pathOf(n)}: the replies differ`);
      }
    }
  } finally {
    agent.destroy();
  }
  return loads;
}

/** One request on a new connection. */
export async function getOnce(target: Target, n: number): Promise<Reply> {
  const agent = new http.Agent({ keepAlive: false });
  return get(agent, target, n);
}

function get(agent: http.Agent, target: Target, n: number): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { status } = target;
    const headers = { ...target.headers, ...target.headersOf?.(n) };
    const options = { agent, headers, timeout: REQUEST_DEADLINE_MS };
    const request = http.get(target.url + target.pathOf(n), options, (response) => {
      const chunks: Buffer[] = [];
      response.on('error', reject);
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        if (response.statusCode !== status) {
          const text = Buffer.concat(chunks).toString('utf8', 0, 200);
          reject(new Error(`expected ${status}, got ${response.statusCode}: ${text}`));
          return;
        }
        const encoding = response.headers['content-encoding'] ?? 'identity';
        resolve({ status, encoding, body: Buffer.concat(chunks) });
      });
    });
    request.on('error', reject);
    request.on('timeout', () => request.destroy(new Error('no reply in time')));
  });
}
