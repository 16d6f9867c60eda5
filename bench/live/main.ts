/** `npm run bench:live`: how soon subscribers receive a snapshot, and how soon all of them reconnect. */
import path from 'node:path';
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
import { LiveMarket, NOW_S } from './market.js';
import { Subscriber } from './subscriber.js';

const USAGE = `npm run bench:live -- [--subscribers N] [--stalled N] [--tokens N] [--files N] [--seconds N]
  [--smoke] [--json FILE]
  --subscribers WebSockets with one subscription each; default 1000
  --stalled     how many of them do not read; default 0
  --tokens      tokens that get snapshots in turn, and that the subscribers share: 1, 10 (default), 20, 50 or 100
  --files       files per second, which share 100 snapshots: 10 (default), 20, 50 or 100
  --seconds     how long to ingest, after 3 seconds that are not measured; default 10
  --smoke       small and short: shows that it works, not how fast
  --json FILE   where the results go; default bench/results/live.json`;

/** Divisors of the snapshots: each file and each round is whole. */
const TOKENS = [1, 10, 20, 50, 100];
const FILES = [10, 20, 50, 100];
const MAX_CONNECTIONS = 50_000;

interface Sizes {
  count: number;
  stalled: number;
  tokens: number;
  files: number;
  seconds: number;
  smoke: boolean;
}

async function main(words: readonly string[]): Promise<void> {
  const { values } = readBenchFlags(words, {
    options: {
      subscribers: { type: 'string', default: '1000' },
      stalled: { type: 'string', default: '0' },
      tokens: { type: 'string', default: '10' },
      files: { type: 'string', default: '10' },
      seconds: { type: 'string', default: '10' },
      smoke: { type: 'boolean', default: false },
      json: { type: 'string', default: path.join('bench', 'results', 'live.json') },
    },
  });
  const { smoke } = values;
  const most = (whole: number, ofSmoke: number): number => (smoke ? ofSmoke : whole);
  const count = most(wholeFlag('--subscribers', values.subscribers, 1, MAX_CONNECTIONS), 20);
  const sizes = {
    count,
    stalled: most(wholeFlag('--stalled', values.stalled, 0, count - 1), 1),
    tokens: choice('--tokens', values.tokens, TOKENS),
    files: choice('--files', values.files, FILES),
    seconds: most(wholeFlag('--seconds', values.seconds, 1, 600), 1),
    smoke,
  };
  checkOpenFiles(count);
  const machine = machineFacts();
  const rows = await measure(sizes);
  const document = { machine, revision: revision(), ...sizes, rows };
  await writeResults(path.resolve(values.json), document);
  const lines = [
    headingOf(machine),
    '',
    ...aligned(rows, ['']),
    ...(smoke ? ['', SMOKE_NOTE] : []),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

function choice(flag: string, text: string, choices: readonly number[]): number {
  const chosen = wholeFlag(flag, text, 1, SNAPSHOTS_PER_SECOND);
  if (choices.includes(chosen)) return chosen;
  throw new BenchUsageError(`${flag}: expected any of ${choices.join(', ')}`);
}

async function measure(sizes: Sizes): Promise<string[][]> {
  const folder = temporaryFolder();
  const pool = await startPool({ threads: 1, onError: (error) => reportProgress(error.message) });
  try {
    const { tokens: tokenCount, count: connections, smoke } = sizes;
    const market = await LiveMarket.make(folder.path, pool, { tokenCount, connections });
    const server = await startBenchServer(market.directory, NOW_S, { smoke });
    const port = Number(new URL(server.url).port);
    const subscribers = Array.from({ length: connections }, (_, i) => {
      return new Subscriber(port, market.keyOf(i), market.addressOf(i % tokenCount));
    });
    try {
      const emptyMb = server.residentMegabytes();
      reportProgress(`connecting ${connections}`);
      const connectedMs = await connectAll(subscribers);
      const mb = (server.residentMegabytes() ?? NaN) - (emptyMb ?? NaN);
      const reading = subscribers.slice(sizes.stalled);
      for (const one of subscribers.slice(0, sizes.stalled)) one.stall();
      reportProgress('snapshots come');
      const delivered = await measureDelivery(market, server, reading, sizes);
      reportProgress('all reconnect');
      const returnedMs = await reconnectAll(market, subscribers);
      return [
        ['', 'value', 'unit'],
        ['all connected and subscribed', figure(connectedMs), 'ms'],
        ['memory of a connection', figure((mb * 1e6) / connections / 1024), 'KiB'],
        ...delivered,
        ['all reconnected and caught up', figure(returnedMs), 'ms'],
      ];
    } finally {
      for (const one of subscribers) one.close();
      await server.stop();
    }
  } finally {
    await pool.close();
    await folder.remove();
  }
}

await runProgram('bench:live', USAGE, main);
