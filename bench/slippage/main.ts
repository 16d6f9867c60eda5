/** `npm run bench:slippage`: how much of the event loop's time an order's cost and market depth take, for a newest snapshot. */
import path from 'node:path';
import { encodeRuns } from '../../compute/segment/rewrite.js';
import { percentile } from '../case.js';
import { benchAddress, PAGE_A, START_S, tokenHistory } from '../data/pages.js';
import { readBenchFlags, wholeFlag } from '../flags.js';
import { temporaryFolder } from '../folder.js';
import { load } from '../http/client.js';
import { type BenchServer, startBenchServer } from '../http/server.js';
import { machineFacts, revision } from '../machine.js';
import { mainThreadTimes } from '../processes.js';
import { headingOf, reportProgress, runProgram, SMOKE_NOTE, writeResults } from '../program.js';
import { aligned, figure } from '../report.js';
import { commitFrames, openStore, unlimitedKey } from '../store.js';

const USAGE = `npm run bench:slippage -- [--requests N] [--turns N] [--smoke] [--json FILE]
  --requests  requests of each row in a turn; default 2000
  --turns     turns, the cheapest of which counts: other work disturbs it least; default 3
  --smoke     small and short: shows that it works, not how fast
  --json FILE where the results go; default bench/results/slippage.json`;

const CLIENTS = 8;
/** Numbers of venues of the tokens. */
const VENUES = [4, 20] as const;
const AMOUNTS = Array.from({ length: 19 }, (_, i) => 1000 * (i + 1)).join(',');
/** A new request has one more amount, or move. */
const QUERIES = [
  'usd=50000&move_pct=2',
  'usd=5000,50000,500000&move_pct=1,2',
  `move_pct=1&usd=${AMOUNTS}`,
];

interface Row {
  name: string;
  /** CPU time of the event loop's thread, including the kernel's; null without /proc. */
  loopUs: number | null;
  p50Ms: number;
  bytes: number;
}

async function main(words: readonly string[]): Promise<void> {
  const { values } = readBenchFlags(words, {
    options: {
      requests: { type: 'string', default: '2000' },
      turns: { type: 'string', default: '3' },
      smoke: { type: 'boolean', default: false },
      json: { type: 'string', default: path.join('bench', 'results', 'slippage.json') },
    },
  });
  const { smoke } = values;
  const requests = smoke ? 20 : wholeFlag('--requests', values.requests, 1, 1_000_000);
  const turns = smoke ? 1 : wholeFlag('--turns', values.turns, 1, 100);
  const machine = machineFacts();
  const rows = await measure(requests, turns, smoke);
  await writeResults(path.resolve(values.json), {
    machine,
    revision: revision(),
    smoke,
    requests,
    turns,
    rows,
  });
  const columns = ['request', 'loop us', 'p50 ms', 'bytes'];
  const table = rows.map(({ name, loopUs, p50Ms, bytes }) => [
    name,
    loopUs === null ? '' : figure(loopUs),
    figure(p50Ms),
    figure(bytes),
  ]);
  const lines = [headingOf(machine), '', ...aligned([columns, ...table], ['request'])];
  process.stdout.write(`${[...lines, ...(smoke ? ['', SMOKE_NOTE] : [])].join('\n')}\n`);
}

async function measure(requests: number, turns: number, smoke: boolean): Promise<Row[]> {
  const folder = temporaryFolder();
  try {
    reportProgress('filling');
    const key = await fill(folder.path);
    const server = await startBenchServer(folder.path, START_S + 1, { smoke });
    try {
      const paths = VENUES.flatMap((venues, token) =>
        QUERIES.map((query, q) => ({
          name: `${PAGE_A.cells} cells, ${venues} venues, ${['1 amount', '3 amounts', '19 amounts'][q]}`,
          path: `/api/v1/slippage/${benchAddress(token)}?side=sell&${query}`,
        })).flatMap(({ name, path }) => [
          { name: `${name}, new`, pathOf: (n: number) => `${path},${40 + n / 1e6}` },
          { name: `${name}, again`, pathOf: () => path },
        ]),
      );
      const depth = `/api/v1/market-depth?token_address=${benchAddress(0)}&exchange_type=ALL`;
      const lowest = (n: number): string => (0.5 + n / 1e7).toFixed(7);
      paths.push(
        { name: '/market-depth, new', pathOf: (n) => `${depth}&low_pct_change=-${lowest(n)}` },
        { name: '/market-depth, again', pathOf: () => depth },
      );
      const score = `/api/v1/score/${benchAddress(0)}`;
      paths.push({ name: '/score, for comparison', pathOf: () => score });
      const rows: Row[] = [];
      for (const { name, pathOf } of paths) {
        reportProgress(name);
        const turn = (n: number) =>
          timed(server, key, name, (i) => pathOf(n * requests + i), requests);
        await turn(0);
        let best = await turn(1);
        for (let n = 2; n <= turns; n++) {
          const next = await turn(n);
          if ((next.loopUs ?? 0) < (best.loopUs ?? 0)) best = next;
        }
        rows.push(best);
      }
      return rows;
    } finally {
      await server.stop();
    }
  } finally {
    await folder.remove();
  }
}

/** Stores one token per number of venues, with one snapshot. @returns a key */
async function fill(directory: string): Promise<string> {
  const store = await openStore(directory);
  try {
    for (const [token, venues] of VENUES.entries()) {
      const history = tokenHistory({ ...PAGE_A, markets: venues }, 1, token);
      const spot = { exchangeType: 'CEX', type: 'cex_spot', address: null } as const;
      const markets = history.markets.map((market, m) => {
        return { ...market, ...spot, source: `Venue ${m}` };
      });
      const { chain, address, tier } = history.run;
      const encoded = encodeRuns({ parts: [{ ...history, markets }], mode: 'replace' });
      await commitFrames(
        store,
        encoded.segments.map((segment) => ({
          kind: 'segment',
          chain,
          address,
          tier,
          markets: encoded.markets,
          segment,
        })),
      );
    }
    await store.settled();
    return await unlimitedKey(store);
  } finally {
    await store.close();
  }
}

async function timed(
  server: BenchServer,
  key: string,
  name: string,
  pathOf: (n: number) => string,
  requests: number,
): Promise<Row> {
  const headers = { 'x-api-key': key, 'accept-encoding': 'gzip' };
  const target = { url: server.url, status: 200, pathOf, headers };
  const read = mainThreadTimes(server.pid);
  const [before] = read?.() ?? [0];
  const { sortedMs, bytes } = await load(target, CLIENTS, 0, requests);
  const loopUs = read === null ? null : (read()[0] - before) / 1000 / sortedMs.length;
  return { name, loopUs, p50Ms: percentile(sortedMs, 0.5), bytes: bytes / sortedMs.length };
}

await runProgram('bench:slippage', USAGE, main);
