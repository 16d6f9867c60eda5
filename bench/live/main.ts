/** `npm run bench:live`: how soon subscribers receive a snapshot, compared with polling clients, and what connections cost. */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPool } from '../../compute/pool.js';
import { BenchUsageError } from '../errors.js';
import { readBenchFlags, wholeFlag } from '../flags.js';
import { temporaryFolder } from '../folder.js';
import { startBenchServer } from '../http/server.js';
import { machineFacts, revision } from '../machine.js';
import { headingOf, reportProgress, runProgram, SMOKE_NOTE, writeResults } from '../program.js';
import { aligned, figure } from '../report.js';
import { checkOpenFiles, connectAll } from './connecting.js';
import { measureDelivery, reconnectAll, SNAPSHOTS_PER_SECOND } from './delivery.js';
import { EventSubscriber } from './event-subscriber.js';
import { measureIdle } from './idle.js';
import { LiveMarket, NOW_S } from './market.js';
import { Poller } from './poller.js';
import { Subscriber } from './subscriber.js';

const USAGE = `npm run bench:live -- [--subscribers N] [--stalled N] [--tokens N] [--followed N]
  [--files N] [--seconds N] [--events] [--poll-ms N] [--idle N] [--smoke] [--json FILE]
  --subscribers connections with one subscription each; default 1000
  --stalled     how many of them do not read; default 0
  --tokens      tokens that get snapshots in turn: 1, 10 (default), 20, 50 or 100
  --followed    how many of the tokens the subscribers share evenly; default: all
  --files       files per second, which share 100 snapshots: 10 (default), 20, 50 or 100
  --seconds     how long to ingest, after 3 seconds that are not measured; default 10
  --events      subscribers use Server-Sent Events instead of WebSockets
  --poll-ms     interval of as many polling clients, measured after the subscribers; default 1000,
                0: none
  --idle        instead measures as many connections for which nothing comes, of each kind, for
                --seconds; needs as many open files (ulimit -n)
  --smoke       small and short: shows that it works, not how fast
  --json FILE   where the results go; default bench/results/live.json`;

/** Divisors of the snapshots: each file and each round is whole. */
const TOKENS = [1, 10, 20, 50, 100];
const FILES = [10, 20, 50, 100];
const MAX_CONNECTIONS = 50_000;

async function main(words: readonly string[]): Promise<void> {
  const { values } = readBenchFlags(words, {
    options: {
      subscribers: { type: 'string', default: '1000' },
      stalled: { type: 'string', default: '0' },
      tokens: { type: 'string', default: '10' },
      followed: { type: 'string' },
      files: { type: 'string', default: '10' },
      seconds: { type: 'string', default: '10' },
      events: { type: 'boolean', default: false },
      'poll-ms': { type: 'string', default: '1000' },
      idle: { type: 'string' },
      smoke: { type: 'boolean', default: false },
      json: { type: 'string', default: path.join('bench', 'results', 'live.json') },
    },
  });
  const { smoke, events } = values;
  const most = (whole: number, ofSmoke: number): number => (smoke ? ofSmoke : whole);
  const count = most(wholeFlag('--subscribers', values.subscribers, 1, MAX_CONNECTIONS), 20);
  const tokens = choice('--tokens', values.tokens, TOKENS);
  const sizes = {
    count,
    stalled: most(wholeFlag('--stalled', values.stalled, 0, count - 1), 1),
    tokens,
    followed: wholeFlag('--followed', values.followed ?? values.tokens, 1, tokens),
    files: choice('--files', values.files, FILES),
    seconds: most(wholeFlag('--seconds', values.seconds, 1, 600), 1),
    events,
    pollMs: wholeFlag('--poll-ms', values['poll-ms'], 0, 60_000),
    idle:
      values.idle === undefined
        ? null
        : most(wholeFlag('--idle', values.idle, 1, MAX_CONNECTIONS), 20),
    smoke,
  };
  const connections = sizes.idle ?? count;
  checkOpenFiles(connections);
  const machine = machineFacts();
  const folder = temporaryFolder();
  const pool = await startPool({ threads: 1, onError: (error) => reportProgress(error.message) });
  try {
    const market = await LiveMarket.make(folder.path, pool, { tokenCount: tokens, connections });
    const rows =
      sizes.idle === null
        ? await measureSubscribers(market, sizes)
        : await measureIdle(market, { count: sizes.idle, seconds: sizes.seconds, smoke });
    await writeResults(path.resolve(values.json), {
      machine,
      revision: revision(),
      ...sizes,
      rows,
    });
    const lines = [headingOf(machine), '', ...aligned(rows, [rows[0][0]])];
    process.stdout.write(`${[...lines, ...(smoke ? ['', SMOKE_NOTE] : [])].join('\n')}\n`);
  } finally {
    await pool.close();
    await folder.remove();
  }
}

function choice(flag: string, text: string, choices: readonly number[]): number {
  const chosen = wholeFlag(flag, text, 1, SNAPSHOTS_PER_SECOND);
  if (choices.includes(chosen)) return chosen;
  throw new BenchUsageError(`${flag}: expected any of ${choices.join(', ')}`);
}

interface Sizes {
  count: number;
  stalled: number;
  followed: number;
  files: number;
  seconds: number;
  events: boolean;
  pollMs: number;
  smoke: boolean;
}

async function measureSubscribers(
  market: LiveMarket,
  { count, stalled, followed, events, pollMs, ...pace }: Sizes,
): Promise<string[][]> {
  const server = await startBenchServer(market.directory, NOW_S, { smoke: pace.smoke });
  const port = Number(new URL(server.url).port);
  const Client = events ? EventSubscriber : Subscriber;
  const addressOf = (i: number): string => market.addressOf(i % followed);
  const subscribers = Array.from(
    { length: count },
    (_, i) => new Client(port, market.keyOf(i), addressOf(i)),
  );
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
    rows.push(...(await measureDelivery(market, server, subscribers.slice(stalled), pace)));
    reportProgress('all reconnect');
    const returnedMs = await reconnectAll(market, subscribers);
    rows.push(['all reconnected and caught up', figure(returnedMs), 'ms']);
    for (const one of subscribers) one.close();
    if (pollMs === 0) return rows;
    reportProgress(`${count} clients ask every ${pollMs} ms`);
    const pollers = Array.from(
      { length: count },
      (_, i) => new Poller(port, market.keyOf(i), addressOf(i), market.nextS),
    );
    const polled = await whilePolling(pollers, pollMs, () =>
      measureDelivery(market, server, pollers, pace),
    );
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

await runProgram('bench:live', USAGE, main);
