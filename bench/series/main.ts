/** `npm run bench:series`: depth over time from long histories of minute snapshots. */
import path from 'node:path';
import { percentile } from '../case.js';
import { benchAddress, START_S } from '../data/pages.js';
import { readBenchFlags, wholeFlag } from '../flags.js';
import { temporaryFolder } from '../folder.js';
import { fullSegmentStore } from '../growth/full-segments.js';
import { asOfS, type GrowthStore } from '../growth/growth-store.js';
import { load } from '../http/client.js';
import { type BenchServer, startBenchServer } from '../http/server.js';
import { machineFacts, revision } from '../machine.js';
import { headingOf, reportProgress, runProgram, SMOKE_NOTE, writeResults } from '../program.js';
import { aligned, figure } from '../report.js';

const USAGE = `npm run bench:series -- [--tokens N] [--days N] [--replies N] [--smoke] [--json FILE]
  --tokens    tokens; default 4
  --days      days of minute snapshots of each, for the series by hours; default 30
  --year-days days of minute snapshots of another store's token, for the series by days; default 365; 0: none
  --replies   replies of each row; default 40
  --smoke     small and short: shows that it works, not how fast
  --json FILE where the results go; default bench/results/series.json`;

const MINUTE_S = 60;
const HOUR_S = 3600;
const DAY_S = 86_400;
const POINTS = 500;

interface Row {
  name: string;
  p50Ms: number;
  p99Ms: number;
  cpuMs: number | null;
  /** The longest block of the event loop, milliseconds; null without /proc. */
  loopMaxMs: number | null;
  replies: number;
}

/** What each row requests, by the number of the request. */
interface Question {
  name: string;
  query: (n: number) => string;
}

async function main(words: readonly string[]): Promise<void> {
  const { values } = readBenchFlags(words, {
    options: {
      tokens: { type: 'string', default: '4' },
      days: { type: 'string', default: '30' },
      'year-days': { type: 'string', default: '365' },
      replies: { type: 'string', default: '40' },
      smoke: { type: 'boolean', default: false },
      json: { type: 'string', default: path.join('bench', 'results', 'series.json') },
    },
  });
  const { smoke } = values;
  const tokens = smoke ? 1 : wholeFlag('--tokens', values.tokens, 1, 1000);
  const days = smoke ? 1 : wholeFlag('--days', values.days, 1, 365);
  const yearDays = smoke ? 2 : wholeFlag('--year-days', values['year-days'], 0, 365);
  const replies = smoke ? 2 : wholeFlag('--replies', values.replies, 1, 10_000);
  const machine = machineFacts();
  const rows = await measured({ tokens, days }, replies, smoke, hourly);
  if (yearDays > 0) {
    rows.push(...(await measured({ tokens: 1, days: yearDays }, replies, smoke, daily)));
  }
  await writeResults(path.resolve(values.json), {
    machine,
    revision: revision(),
    smoke,
    tokens,
    days,
    yearDays,
    rows,
  });
  const columns = ['series', 'p50 ms', 'p99 ms', 'cpu ms', 'loop ms, longest', 'n'];
  const table = rows.map(({ name, p50Ms, p99Ms, cpuMs, loopMaxMs, replies: n }) => [
    name,
    ...[p50Ms, p99Ms, cpuMs, loopMaxMs].map((value) => (value === null ? '' : figure(value))),
    String(n),
  ]);
  const lines = [headingOf(machine), '', ...aligned([columns, ...table], ['series'])];
  process.stdout.write(`${[...lines, ...(smoke ? ['', SMOKE_NOTE] : [])].join('\n')}\n`);
}

interface Contents {
  tokens: number;
  days: number;
}

/** Makes a store, serves it and measures requests. */
async function measured(
  { tokens, days }: Contents,
  replies: number,
  smoke: boolean,
  questions: (days: number) => Question[],
): Promise<Row[]> {
  const folder = temporaryFolder();
  try {
    reportProgress(`filling ${tokens} x ${days} days of minute snapshots`);
    const snapshots = (days * DAY_S) / MINUTE_S;
    const store = await fullSegmentStore({
      name: 'series',
      directory: folder.path,
      tokens,
      snapshots,
      pageSnapshots: 1,
      everyS: MINUTE_S,
    });
    const rows: Row[] = [];
    for (const { name, query } of questions(days)) {
      const server = await startBenchServer(folder.path, asOfS(store), { smoke, probeLoop: true });
      try {
        reportProgress(name);
        const ask = (how: string, n: number) => timed(server, store, `${name}, ${how}`, query, n);
        rows.push(await ask('first', tokens));
        rows.push(await ask('again', replies));
      } finally {
        await server.stop();
      }
    }
    return rows;
  } finally {
    await folder.remove();
  }
}

/** POINTS hours that end a little later with each request; with default and with other parameters. */
function hourly(days: number): Question[] {
  const points = Math.min(POINTS, days * 24);
  const window = (n: number): string => {
    const to = START_S + days * DAY_S - (n % 24) * HOUR_S;
    return `step=1h&from=${to - points * HOUR_S}&to=${to}`;
  };
  const name = `${points} points, 1h`;
  return [
    { name, query: window },
    { name: `${name}, by venue`, query: (n) => `${window(n)}&group=venue` },
    { name: `${name}, spot markets`, query: (n) => `${window(n)}&types=cex_spot&pct=0.5,3,25` },
  ];
}

function daily(days: number): Question[] {
  const query = () => `step=1d&from=${START_S}&to=${START_S + days * DAY_S}`;
  return [{ name: `${days} points, 1d`, query }];
}

async function timed(
  server: BenchServer,
  { key, tokens }: GrowthStore,
  name: string,
  query: (n: number) => string,
  replies: number,
): Promise<Row> {
  const pathOf = (n: number) => `/api/v1/depth-series/${benchAddress(n % tokens)}?${query(n)}`;
  const headers = { 'x-api-key': key, 'accept-encoding': 'gzip' };
  server.resetLoopDelay();
  const before = server.cpuMs();
  const { sortedMs } = await load({ url: server.url, status: 200, pathOf, headers }, 1, 0, replies);
  const after = server.cpuMs();
  const { busy } = await server.loopDelay();
  return {
    name,
    p50Ms: percentile(sortedMs, 0.5),
    p99Ms: percentile(sortedMs, 0.99),
    cpuMs: before === null || after === null ? null : (after - before) / sortedMs.length,
    loopMaxMs: busy?.maxMs ?? null,
    replies: sortedMs.length,
  };
}

await runProgram('bench:series', USAGE, main);
