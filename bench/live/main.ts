/** `npm run bench:live`: how soon subscribers receive a snapshot, compared with polling clients, and what connections cost. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ComputePool, startPool } from '../../compute/pool.js';
import type { RewriteInput } from '../../compute/segment/rewrite.js';
import { withStore } from '../../storage/access.js';
import { ingestFiles } from '../../storage/ingest/ingest.js';
import { percentile } from '../case.js';
import { botAddress, botSnapshotLine, botTokenLine } from '../data/bots.js';
import { BenchUsageError } from '../errors.js';
import { readBenchFlags, wholeFlag } from '../flags.js';
import { temporaryFolder } from '../folder.js';
import { startBenchServer } from '../http/server.js';
import { machineFacts, revision } from '../machine.js';
import { headingOf, reportProgress, runProgram, SMOKE_NOTE, writeResults } from '../program.js';
import { aligned, figure } from '../report.js';
import { openStore, unlimitedKey } from '../store.js';
import { Poller } from './poller.js';
import { type HeardMs, Subscriber } from './subscriber.js';

const USAGE = `npm run bench:live -- [--subscribers N] [--stalled N] [--tokens N] [--files N]
  [--seconds N] [--poll-ms N] [--smoke] [--json FILE]
  --subscribers connections with one subscription each; default 1000
  --stalled     how many of them do not read; default 0
  --tokens      tokens that get snapshots in turn, shared evenly by the subscribers: 10 (default),
                20, 50 or 100
  --files       files per second, which share 100 snapshots: 10 (default), 20, 50 or 100
  --seconds     how long to ingest, after 3 seconds that are not measured; default 10
  --poll-ms     interval of as many polling clients, measured after the subscribers; default 1000,
                0: none
  --smoke       small and short: shows that it works, not how fast
  --json FILE   where the results go; default bench/results/live.json`;

const SNAPSHOTS_PER_SECOND = 100;
/** Divisors of the snapshots: each file and each round is whole. */
const CHOICES = [10, 20, 50, 100];
/** A server that has just started is still compiling its code. */
const WARM_UP_S = 3;
const START_S = 1_794_000_000;
/** Connections per key, as its plan allows. */
const CONNECTIONS_PER_KEY = 100;
/** Connections opened at the same time. */
const OPENING = 200;
const CONNECT_LIMIT_MS = 60_000;
const RETRY_MS = 100;
/** How long the last commit's message may take to arrive; later ones count as lost. */
const LAST_HEARD_MS = 2000;

async function main(words: readonly string[]): Promise<void> {
  const { values } = readBenchFlags(words, {
    options: {
      subscribers: { type: 'string', default: '1000' },
      stalled: { type: 'string', default: '0' },
      tokens: { type: 'string', default: '10' },
      files: { type: 'string', default: '10' },
      seconds: { type: 'string', default: '10' },
      'poll-ms': { type: 'string', default: '1000' },
      smoke: { type: 'boolean', default: false },
      json: { type: 'string', default: path.join('bench', 'results', 'live.json') },
    },
  });
  const { smoke } = values;
  const count = smoke ? 20 : wholeFlag('--subscribers', values.subscribers, 1, 50_000);
  const stalled = smoke ? 1 : wholeFlag('--stalled', values.stalled, 0, count - 1);
  const seconds = smoke ? 1 : wholeFlag('--seconds', values.seconds, 1, 600);
  const tokens = choice('--tokens', values.tokens);
  const files = choice('--files', values.files);
  const pollMs = wholeFlag('--poll-ms', values['poll-ms'], 0, 60_000);
  const machine = machineFacts();
  const folder = temporaryFolder();
  const pool = await startPool({ threads: 1, onError: (error) => reportProgress(error.message) });
  try {
    const rows = await measure(folder.path, pool, {
      count,
      stalled,
      tokenCount: tokens,
      files,
      seconds,
      pollMs,
      smoke,
    });
    await writeResults(path.resolve(values.json), {
      ...{
        machine,
        revision: revision(),
        smoke,
        count,
        stalled,
        tokens,
        files,
        seconds,
        pollMs,
        rows,
      },
    });
    const lines = [headingOf(machine), '', ...aligned(rows, [rows[0][0]])];
    process.stdout.write(`${[...lines, ...(smoke ? ['', SMOKE_NOTE] : [])].join('\n')}\n`);
  } finally {
    await pool.close();
    await folder.remove();
  }
}

function choice(flag: string, text: string): number {
  const chosen = wholeFlag(flag, text, 1, SNAPSHOTS_PER_SECOND);
  if (CHOICES.includes(chosen)) return chosen;
  throw new BenchUsageError(`${flag}: expected any of ${CHOICES.join(', ')}`);
}

interface Sizes {
  count: number;
  stalled: number;
  tokenCount: number;
  files: number;
  seconds: number;
  pollMs: number;
  smoke: boolean;
}

async function measure(
  directory: string,
  pool: ComputePool,
  { count, stalled, tokenCount, files, seconds, pollMs, smoke }: Sizes,
): Promise<string[][]> {
  const store = await openStore(directory);
  const keys: string[] = [];
  for (let made = 0; made * CONNECTIONS_PER_KEY < count; made++)
    keys.push(await unlimitedKey(store));
  await store.close();
  const tokens = Array.from({ length: tokenCount }, (_, i) => i);
  await ingest(directory, pool, 'tokens', tokens.map(botTokenLine));
  await ingestSnapshots(directory, pool, START_S, tokens);
  const server = await startBenchServer(directory, START_S + 86_400, { smoke });
  const port = Number(new URL(server.url).port);
  const keyOf = (i: number): string => keys[Math.floor(i / CONNECTIONS_PER_KEY)];
  const subscribers = Array.from(
    { length: count },
    (_, i) => new Subscriber(port, keyOf(i), botAddress(i % tokenCount)),
  );
  let nextS = START_S + 1;
  const deliverTo = async (readers: readonly Reader[]): Promise<string[][]> => {
    const deliverFor = async (lastsS: number): Promise<Delivered> => {
      const delivered = await deliver(
        directory,
        pool,
        { tokenCount, files, lastsS, fromS: nextS },
        readers,
      );
      nextS += delivered.rounds;
      return delivered;
    };
    if (!smoke) await deliverFor(WARM_UP_S);
    const cpuMs = server.cpuMs();
    const delivered = await deliverFor(seconds);
    const rows = [
      ['snapshots a second', figure((delivered.rounds * tokenCount) / delivered.tookS), ''],
      [
        'files a second',
        figure((delivered.rounds * tokenCount * files) / SNAPSHOTS_PER_SECOND / delivered.tookS),
        '',
      ],
      ['received a second', figure(delivered.latencies.length / delivered.tookS), ''],
      ['acknowledged to received, p50', figure(percentile(delivered.latencies, 0.5)), 'ms'],
      ['acknowledged to received, p99', figure(percentile(delivered.latencies, 0.99)), 'ms'],
      ['received, of all', figure((100 * delivered.latencies.length) / delivered.expected), '%'],
    ];
    if (cpuMs === null) return rows;
    const us = (1000 * ((server.cpuMs() ?? cpuMs) - cpuMs)) / delivered.latencies.length;
    return [...rows, ['CPU of the server per message', figure(us), 'us']];
  };
  try {
    const rows: string[][] = [['', 'value', 'unit']];
    const emptyMb = server.residentMegabytes();
    reportProgress(`connecting ${count}`);
    const connectedMs = await connectAll(subscribers);
    rows.push(['all connected and subscribed', figure(connectedMs), 'ms']);
    if (emptyMb !== null) {
      const mb = (server.residentMegabytes() ?? emptyMb) - emptyMb;
      rows.push(['memory of a connection', figure((mb * 1e6) / count / 1024), 'KiB']);
    }
    for (const one of subscribers.slice(0, stalled)) one.stall();
    reportProgress('snapshots come');
    rows.push(...(await deliverTo(subscribers.slice(stalled))));
    reportProgress('all reconnect');
    const returnedMs = await reconnectAll(directory, pool, { t: nextS++, tokens }, subscribers);
    rows.push(['all reconnected and caught up', figure(returnedMs), 'ms']);
    for (const one of subscribers) one.close();
    if (pollMs === 0) return rows;
    reportProgress(`${count} clients ask every ${pollMs} ms`);
    const pollers = Array.from(
      { length: count },
      (_, i) => new Poller(port, keyOf(i), botAddress(i % tokenCount), nextS),
    );
    const polled = await whilePolling(pollers, pollMs, () => deliverTo(pollers));
    const sum = (count: (poller: Poller) => number): string =>
      figure(pollers.reduce((total, poller) => total + count(poller), 0));
    rows.push(
      ['polling', '', ''],
      ['requests', sum(({ requests }) => requests), ''],
      ['requests answered with 503', sum(({ refused }) => refused), ''],
      ...polled,
    );
    return rows;
  } finally {
    for (const one of subscribers) one.close();
    await server.stop();
  }
}

/** Runs `body` while `pollers` poll, each at a different moment of the interval. @throws Error of a failed request */
async function whilePolling<T>(
  pollers: readonly Poller[],
  pollMs: number,
  body: () => Promise<T>,
): Promise<T> {
  let fail: (error: Error) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => (fail = reject));
  try {
    const beganMs = performance.now();
    for (const [i, poller] of pollers.entries()) {
      const waitMs = beganMs + (pollMs * i) / pollers.length - performance.now();
      if (waitMs > 0) await sleep(waitMs);
      await poller.start(pollMs, fail);
    }
    return await Promise.race([body(), failed]);
  } finally {
    for (const poller of pollers) poller.stop();
  }
}

/**
 * Connects all subscribers, some at a time. A refused one tries again, as clients do: a server that has not noticed yet
 * that a key's connections ended still counts them.
 * @returns milliseconds
 * @throws Error if one is refused for CONNECT_LIMIT_MS
 */
async function connectAll(subscribers: readonly Subscriber[]): Promise<number> {
  const beganMs = performance.now();
  let next = 0;
  const connect = async (subscriber: Subscriber): Promise<void> => {
    try {
      await subscriber.connect();
    } catch (error) {
      if (performance.now() - beganMs > CONNECT_LIMIT_MS) throw error;
      await sleep(RETRY_MS);
      await connect(subscriber);
    }
  };
  const connectNext = async (): Promise<void> => {
    while (next < subscribers.length) await connect(subscribers[next++]);
  };
  await Promise.all(Array.from({ length: OPENING }, connectNext));
  return performance.now() - beganMs;
}

/** A client that follows a token, and when it received each snapshot. */
interface Reader {
  readonly address: string;
  readonly heardMs: HeardMs;
}

interface Delivered {
  /** How many times each token had a snapshot. */
  rounds: number;
  tookS: number;
  expected: number;
  latencies: Float64Array;
}

/** Ingests at a steady rate, whether or not the server keeps up, unless a file takes longer than its turn. */
async function deliver(
  directory: string,
  pool: ComputePool,
  {
    tokenCount,
    files,
    lastsS,
    fromS,
  }: { tokenCount: number; files: number; lastsS: number; fromS: number },
  readers: readonly Reader[],
): Promise<Delivered> {
  const acknowledgedMs = new Map<string, number>();
  const beganMs = performance.now();
  const [tokensAFile, rounds] = [
    SNAPSHOTS_PER_SECOND / files,
    (lastsS * SNAPSHOTS_PER_SECOND) / tokenCount,
  ];
  const filesARound = tokenCount / tokensAFile;
  for (let i = 0; i < rounds * filesARound; i++) {
    await sleep(Math.max(0, beganMs + (1000 * i) / files - performance.now()));
    const t = fromS + Math.floor(i / filesARound);
    const first = (i % filesARound) * tokensAFile;
    const tokens = Array.from({ length: tokensAFile }, (_, token) => first + token);
    await ingestSnapshots(directory, pool, t, tokens);
    for (const token of tokens) acknowledgedMs.set(`${botAddress(token)} ${t}`, performance.now());
  }
  const tookS = (performance.now() - beganMs) / 1000;
  await sleep(LAST_HEARD_MS);
  const latencies: number[] = [];
  for (const { address, heardMs } of readers) {
    for (let t = fromS; t < fromS + rounds; t++) {
      const heard = heardMs.get(t);
      // A message may arrive before the acknowledgement.
      const ackMs = acknowledgedMs.get(`${address} ${t}`) as number;
      if (heard !== undefined) latencies.push(Math.max(0, heard - ackMs));
    }
  }
  const sorted = Float64Array.from(latencies).sort();
  return { rounds, tookS, expected: rounds * readers.length, latencies: sorted };
}

/** Cuts all connections, commits, and reconnects all by their cursors. @returns milliseconds until all are up to date */
async function reconnectAll(
  directory: string,
  pool: ComputePool,
  { t, tokens }: { t: number; tokens: readonly number[] },
  subscribers: readonly Subscriber[],
): Promise<number> {
  for (const one of subscribers) one.close();
  await ingestSnapshots(directory, pool, t, tokens);
  const beganMs = performance.now();
  await connectAll(subscribers);
  while (subscribers.some(({ heardMs }) => !heardMs.has(t))) {
    if (performance.now() - beganMs > CONNECT_LIMIT_MS) throw new Error('not all caught up');
    await sleep(5);
  }
  return performance.now() - beganMs;
}

/** Ingests a file with one snapshot per token. */
function ingestSnapshots(
  directory: string,
  pool: ComputePool,
  t: number,
  tokens: readonly number[],
): Promise<void> {
  const lines = tokens.map((token) => botSnapshotLine(token, t));
  return ingest(directory, pool, 'snapshots', lines);
}

async function ingest(
  directory: string,
  pool: ComputePool,
  dataset: 'tokens' | 'snapshots',
  lines: readonly string[],
): Promise<void> {
  const file = path.join(directory, `${dataset}.ndjson`);
  await writeFile(file, `${lines.join('\n')}\n`);
  const rewrite = (input: RewriteInput) => pool.run('rewriteSegments', input);
  const reports = ingestFiles({
    ...{ directory, dataset, files: [file], merge: false, pool },
    useStore: (body) => withStore(directory, { rewrite }, body),
  });
  while ((await reports.next()).done !== true);
}

await runProgram('bench:live', USAGE, main);
