/** `npm run bench:live`: how soon subscribers hear of a snapshot, and what connections cost. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import WebSocket from 'ws';
import { type ComputePool, startPool } from '../../compute/pool.js';
import type { RewriteInput } from '../../compute/segment/rewrite.js';
import { withStore } from '../../storage/access.js';
import { ingestFiles } from '../../storage/ingest/ingest.js';
import { percentile } from '../case.js';
import { botAddress, botSnapshotLine, botTokenLine } from '../data/bots.js';
import { readBenchFlags, wholeFlag } from '../flags.js';
import { temporaryFolder } from '../folder.js';
import { type BenchServer, startBenchServer } from '../http/server.js';
import { machineFacts, revision } from '../machine.js';
import { headingOf, reportProgress, runProgram, SMOKE_NOTE, writeResults } from '../program.js';
import { aligned, figure } from '../report.js';
import { openStore, unlimitedKey } from '../store.js';

const USAGE = `npm run bench:live -- [--subscribers N] [--stalled N] [--seconds N] [--smoke] [--json FILE]
  --subscribers connections with one subscription each; default 1000
  --stalled     how many of them do not read; default 0
  --seconds     how long snapshots come; default 10
  --smoke       small and short: shows that it works, not how fast
  --json FILE   where the results go; default bench/results/live.json`;

const TOKENS = 10;
/** Commits a second, each of one snapshot of every token. */
const COMMITS_PER_SECOND = 10;
const START_S = 1_794_000_000;
/** Connections of one key, as its plan allows. */
const CONNECTIONS_PER_KEY = 100;
/** Connections that are opened at a time. */
const OPENING = 200;
const CONNECT_LIMIT_MS = 60_000;

interface Message {
  type: string;
  cursor?: string;
  snapshots?: { t: number }[];
}

/** One connection that follows one token. */
class Subscriber {
  /** When each snapshot came, by its time. */
  readonly heardMs = new Map<number, number>();
  cursor: string | null = null;
  private socket: WebSocket | null = null;

  constructor(
    private readonly url: string,
    private readonly key: string,
    private readonly address: string,
  ) {}

  async connect(): Promise<void> {
    const socket = new WebSocket(`${this.url.replace('http', 'ws')}/api/v1/stream`, {
      headers: { 'x-api-key': this.key },
      perMessageDeflate: false,
    });
    this.socket = socket;
    const begin = this.cursor === null ? {} : { cursor: this.cursor };
    await new Promise<void>((resolve, reject) => {
      socket.on('error', reject);
      socket.on('close', (code) => reject(new Error(`closed with ${code}`)));
      socket.on('open', () => {
        const { address } = this;
        const asked = { op: 'subscribe', id: 'a', channel: 'depth', address, group: 'all' };
        socket.send(JSON.stringify({ ...asked, min_pct: -5, max_pct: 5, ...begin }));
      });
      socket.on('message', (data: Buffer) => {
        const atMs = performance.now();
        const message = JSON.parse(data.toString()) as Message;
        if (message.cursor !== undefined) this.cursor = message.cursor;
        if (message.type === 'subscribed') resolve();
        for (const { t } of message.snapshots ?? []) this.heardMs.set(t, atMs);
      });
    });
  }

  stall(): void {
    this.socket?.pause();
  }

  close(): void {
    this.socket?.removeAllListeners('close');
    this.socket?.terminate();
  }
}

async function main(words: readonly string[]): Promise<void> {
  const { values } = readBenchFlags(words, {
    options: {
      subscribers: { type: 'string', default: '1000' },
      stalled: { type: 'string', default: '0' },
      seconds: { type: 'string', default: '10' },
      smoke: { type: 'boolean', default: false },
      json: { type: 'string', default: path.join('bench', 'results', 'live.json') },
    },
  });
  const { smoke } = values;
  const count = smoke ? 20 : wholeFlag('--subscribers', values.subscribers, 1, 50_000);
  const stalled = smoke ? 1 : wholeFlag('--stalled', values.stalled, 0, count - 1);
  const seconds = smoke ? 1 : wholeFlag('--seconds', values.seconds, 1, 600);
  const machine = machineFacts();
  const folder = temporaryFolder();
  const pool = await startPool({ threads: 1, onError: (error) => reportProgress(error.message) });
  try {
    const rows = await measure(folder.path, pool, { count, stalled, seconds, smoke });
    await writeResults(path.resolve(values.json), {
      ...{ machine, revision: revision(), smoke, count, stalled, seconds, rows },
    });
    const lines = [headingOf(machine), '', ...aligned(rows, [rows[0][0]])];
    process.stdout.write(`${[...lines, ...(smoke ? ['', SMOKE_NOTE] : [])].join('\n')}\n`);
  } finally {
    await pool.close();
    await folder.remove();
  }
}

async function measure(
  directory: string,
  pool: ComputePool,
  {
    count,
    stalled,
    seconds,
    smoke,
  }: Record<'count' | 'stalled' | 'seconds', number> & { smoke: boolean },
): Promise<string[][]> {
  const store = await openStore(directory);
  const keys: string[] = [];
  for (let made = 0; made * CONNECTIONS_PER_KEY < count; made++)
    keys.push(await unlimitedKey(store));
  await store.close();
  const tokens = Array.from({ length: TOKENS }, (_, i) => i);
  await ingest(directory, pool, 'tokens', tokens.map(botTokenLine));
  await ingest(
    directory,
    pool,
    'snapshots',
    tokens.map((i) => botSnapshotLine(i, START_S)),
  );
  const server = await startBenchServer(directory, START_S + 86_400, { smoke });
  const subscribers = Array.from({ length: count }, (_, i) => {
    const key = keys[Math.floor(i / CONNECTIONS_PER_KEY)];
    return new Subscriber(server.url, key, botAddress(i % TOKENS));
  });
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
    const cpuMs = server.cpuMs();
    const told = await deliver(directory, pool, seconds, subscribers.slice(stalled));
    rows.push(
      ['snapshots a second', figure(told.snapshots / seconds), ''],
      ['messages a second', figure(told.latencies.length / seconds), ''],
      ['acknowledged to heard, p50', figure(percentile(told.latencies, 0.5)), 'ms'],
      ['acknowledged to heard, p99', figure(percentile(told.latencies, 0.99)), 'ms'],
      ['heard, of all', figure((100 * told.latencies.length) / told.expected), '%'],
    );
    if (cpuMs !== null) {
      const usedMs = (server.cpuMs() ?? cpuMs) - cpuMs;
      rows.push([
        'CPU of the server a message',
        figure((1000 * usedMs) / told.latencies.length),
        'us',
      ]);
    }
    reportProgress('all reconnect');
    rows.push([
      'all reconnected and caught up',
      figure(await comeBack(directory, pool, subscribers)),
      'ms',
    ]);
    return rows;
  } finally {
    for (const one of subscribers) one.close();
    await stopped(server);
  }
}

/** Connects all at once, some at a time. @returns milliseconds */
async function connectAll(subscribers: readonly Subscriber[]): Promise<number> {
  const beganMs = performance.now();
  let next = 0;
  const connectNext = async (): Promise<void> => {
    while (next < subscribers.length) await subscribers[next++].connect();
  };
  await Promise.all(Array.from({ length: OPENING }, connectNext));
  return performance.now() - beganMs;
}

/** Ingests at a steady rate, whether or not the server keeps up. */
async function deliver(
  directory: string,
  pool: ComputePool,
  seconds: number,
  readers: readonly Subscriber[],
): Promise<{ snapshots: number; expected: number; latencies: Float64Array }> {
  const acknowledgedMs = new Map<number, number>();
  const beganMs = performance.now();
  const commits = seconds * COMMITS_PER_SECOND;
  for (let i = 0; i < commits; i++) {
    await sleep(Math.max(0, beganMs + (1000 * i) / COMMITS_PER_SECOND - performance.now()));
    const t = START_S + 1 + i;
    const lines = Array.from({ length: TOKENS }, (_, token) => botSnapshotLine(token, t));
    await ingest(directory, pool, 'snapshots', lines);
    acknowledgedMs.set(t, performance.now());
  }
  await sleep(1000);
  const latencies: number[] = [];
  for (const { heardMs } of readers) {
    for (const [t, atMs] of acknowledgedMs) {
      const heard = heardMs.get(t);
      // A message may come before the acknowledgement has.
      if (heard !== undefined) latencies.push(Math.max(0, heard - atMs));
    }
  }
  const sorted = Float64Array.from(latencies).sort();
  return { snapshots: commits * TOKENS, expected: commits * readers.length, latencies: sorted };
}

/** Cuts all, commits, and lets all come back by their cursors. @returns milliseconds until all have heard */
async function comeBack(
  directory: string,
  pool: ComputePool,
  subscribers: readonly Subscriber[],
): Promise<number> {
  for (const one of subscribers) one.close();
  const t = START_S + 40_000;
  const lines = Array.from({ length: TOKENS }, (_, token) => botSnapshotLine(token, t));
  await ingest(directory, pool, 'snapshots', lines);
  const beganMs = performance.now();
  await connectAll(subscribers);
  while (subscribers.some(({ heardMs }) => !heardMs.has(t))) {
    if (performance.now() - beganMs > CONNECT_LIMIT_MS) throw new Error('not all caught up');
    await sleep(5);
  }
  return performance.now() - beganMs;
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

const stopped = (server: BenchServer): Promise<void> => server.stop();

await runProgram('bench:live', USAGE, main);
