/** `npm run bench:history`: pages of a history larger than the memory for fragments, with and without fragments on disk. */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { defaultThreads, divideMemory } from '../../server/memory.js';
import { percentile } from '../case.js';
import { asOfS } from '../cases/http.js';
import { pathOf, windowOf } from '../cases/request.js';
import { HISTORY_PAGES, PAGE_A } from '../data/pages.js';
import { BenchFailure } from '../errors.js';
import { readBenchFlags, wholeFlag } from '../flags.js';
import { temporaryFolder } from '../folder.js';
import { load, type LoadResult, type Target } from '../http/client.js';
import { type BenchServer, startBenchServer } from '../http/server.js';
import { machineFacts, revision } from '../machine.js';
import { headingOf, reportProgress, runProgram, SMOKE_NOTE, writeResults } from '../program.js';
import { aligned, figure } from '../report.js';
import { makeStore, type StoreContents } from '../store.js';

const USAGE = `npm run bench:history -- [--tokens N] [--seconds N] [--memory-mib N] [--smoke] [--json FILE]
  --tokens     tokens of ${HISTORY_PAGES * PAGE_A.snapshots} snapshots; default 48
  --seconds    seconds of each row; default 8
  --memory-mib the server's memory; default 512
  --smoke      small and short: shows that it works, not how fast
  --json FILE  where the results go; default bench/results/history.json`;

const CLIENTS = 8;
const VIEWS = ['group=market', 'group=all', 'types=onchain_pool'] as const;
/** The files are complete when their number has not changed for this long. */
const QUIET_MS = 3000;
const FILL_DEADLINE_MS = 600_000;
const FIRST_SECONDS = 5;
/** Seed of the random places. */
const SEED = 1;

interface Row {
  name: string;
  pagesPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  cpuMs: number | null;
  pages: number;
}

interface Effort {
  tokens: number;
  forMs: number;
  flags: string[];
}

async function main(words: readonly string[]): Promise<void> {
  const values = readBenchFlags(words, {
    options: {
      tokens: { type: 'string', default: '48' },
      seconds: { type: 'string', default: '8' },
      'memory-mib': { type: 'string', default: '512' },
      smoke: { type: 'boolean', default: false },
      json: { type: 'string', default: path.join('bench', 'results', 'history.json') },
    },
  }).values;
  const { smoke } = values;
  const memoryMib = wholeFlag('--memory-mib', values['memory-mib'], 1, 2 ** 20);
  const effort: Effort = {
    tokens: smoke ? 2 : wholeFlag('--tokens', values.tokens, 2, 10_000),
    forMs: smoke ? 200 : 1000 * wholeFlag('--seconds', values.seconds, 1, 600),
    flags: ['--memory-mib', `${memoryMib}`],
  };
  const machine = machineFacts();
  const results = await measure(effort, smoke);
  await writeResults(path.resolve(values.json), {
    machine,
    revision: revision(),
    smoke,
    seed: SEED,
    memoryMib,
    ...effort,
    ...results,
  });
  const { filled, rows } = results;
  const memoryBytes = divideMemory(memoryMib, defaultThreads(memoryMib)).fragments;
  const columns = ['pages', 'pages/s', 'p50 ms', 'p99 ms', 'cpu ms/page', 'n'];
  const table = rows.map((row) => [
    row.name,
    figure(row.pagesPerSecond),
    figure(row.p50Ms),
    figure(row.p99Ms),
    row.cpuMs === null ? '' : figure(row.cpuMs),
    String(row.pages),
  ]);
  const lines = [
    headingOf(machine),
    '',
    `${figure(filled.cells / 1e6)} million cells; fragments: ${filled.files} files, ${figure(filled.bytes / 1e6)} MB, ` +
      `${figure(filled.bytes / filled.cells)} bytes a cell, of which ${figure(memoryBytes / 1e6)} MB fit in memory; ` +
      `made in ${figure(filled.elapsedMs / 1000)} s with ${figure(filled.cpuMs / 1000)} s of CPU`,
    '',
    ...aligned([columns, ...table], ['pages']),
    ...(smoke ? ['', SMOKE_NOTE] : []),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

async function measure(effort: Effort, smoke: boolean) {
  const data = temporaryFolder();
  const { tokens, flags, forMs } = effort;
  const serve = (...more: string[]) =>
    startBenchServer(data.path, asOfS(PAGE_A), { flags: [...flags, ...more], smoke });
  try {
    reportProgress('filling');
    const contents = await makeStore(data.path, PAGE_A, tokens);
    reportProgress('fragments are made');
    const filled = { cells: contents.cells, ...(await withServer(serve, waitForFiles)) };
    const rows: Row[] = [];
    for (const query of ['group=market', 'group=all']) {
      reportProgress(`first seconds, ${query}`);
      await withServer(serve, async (server) => {
        for (let second = 1; second <= (smoke ? 1 : FIRST_SECONDS); second++) {
          const from = 100_000 * second;
          const target = randomPlaces(server, contents, query, from);
          rows.push(await measured(server, `start, second ${second}, ${query}`, target, 1000));
        }
      });
    }
    for (const [how, more] of [
      ['on disk', []],
      ['in memory alone', ['--fragments-disk-gib', '0']],
      ['none', ['--fragments-memory-mib', '0']],
    ] as const) {
      await withServer(
        () => serve(...more),
        async (server) => {
          for (const query of VIEWS) {
            reportProgress(`${how}, ${query}`);
            const target = randomPlaces(server, contents, query, 0);
            rows.push(await measured(server, `random, ${how}, ${query}`, target, forMs));
          }
        },
      );
    }
    // Without the disk, the files are gone.
    await withServer(serve, waitForFiles);
    for (const query of VIEWS) {
      reportProgress(`walk, ${query}`);
      await withServer(serve, async (server) => {
        const [started, running] = walks(server, contents, query);
        const pages = HISTORY_PAGES * Math.floor(tokens / 2);
        rows.push(await measured(server, `first walk after a start, ${query}`, started, 0, pages));
        rows.push(await measured(server, `first walk later, ${query}`, running, 0, pages));
      });
    }
    return { filled, rows };
  } finally {
    await data.remove();
  }
}

async function withServer<T>(
  start: () => Promise<BenchServer>,
  use: (server: BenchServer) => Promise<T>,
): Promise<T> {
  const server = await start();
  try {
    return await use(server);
  } finally {
    await server.stop();
  }
}

/** Waits until no more fragments are made, and returns their cost. */
async function waitForFiles(server: BenchServer) {
  const beganMs = performance.now();
  const beganCpuMs = server.cpuMs() ?? NaN;
  let files = -1;
  let since = performance.now();
  let cpuMs = NaN;
  for (;;) {
    const found = await metricOf(server, 'fathom_fragments_disk_files');
    if (found !== files) {
      files = found;
      since = performance.now();
      cpuMs = (server.cpuMs() ?? NaN) - beganCpuMs;
    } else if (performance.now() - since > QUIET_MS) break;
    if (since - beganMs > FILL_DEADLINE_MS) throw new BenchFailure('fragments are not complete');
    await sleep(200);
  }
  return {
    files,
    bytes: await metricOf(server, 'fathom_fragments_disk_bytes'),
    elapsedMs: since - beganMs,
    cpuMs,
  };
}

async function metricOf(server: BenchServer, name: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? NaN);
}

/** Whole pages from random places of random tokens. */
function randomPlaces(
  { url }: BenchServer,
  { tokens, key, shape }: StoreContents,
  query: string,
  from: number,
): Target {
  const pathAt = (n: number) => {
    const place = mixed(SEED + from + n);
    const token = place % tokens;
    const first = Math.floor(place / tokens) % ((HISTORY_PAGES - 1) * shape.snapshots + 1);
    return pathOf({ token, first, ...windowOf(first, shape.snapshots) }, query);
  };
  return targetOf(url, key, pathAt);
}

/** Every page of each token, in sequence: of the first half of the tokens, and of the second. */
function walks(
  { url }: BenchServer,
  { tokens, key, shape }: StoreContents,
  query: string,
): [Target, Target] {
  const from = (firstToken: number) =>
    targetOf(url, key, (n) => {
      const first = (n % HISTORY_PAGES) * shape.snapshots;
      const token = firstToken + Math.floor(n / HISTORY_PAGES);
      return pathOf({ token, first, ...windowOf(first, shape.snapshots) }, query);
    });
  return [from(0), from(Math.floor(tokens / 2))];
}

function targetOf(url: string, key: string, path: (n: number) => string): Target {
  return {
    url,
    status: 200,
    pathOf: path,
    headers: { 'x-api-key': key, 'accept-encoding': 'gzip' },
  };
}

/** A pseudo-random whole number: the finalizer of MurmurHash3. */
function mixed(n: number): number {
  let hash = Math.imul(n ^ (n >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** @param pages exactly this many, however long they take; default: as many as arrive within `forMs` */
async function measured(
  server: BenchServer,
  name: string,
  target: Target,
  forMs: number,
  pages = Infinity,
): Promise<Row> {
  const cpuBefore = server.cpuMs();
  const { sortedMs, elapsedMs }: LoadResult = await load(target, CLIENTS, forMs, pages);
  const cpuAfter = server.cpuMs();
  return {
    name,
    pagesPerSecond: (1000 * sortedMs.length) / elapsedMs,
    p50Ms: percentile(sortedMs, 0.5),
    p99Ms: percentile(sortedMs, 0.99),
    cpuMs:
      cpuBefore === null || cpuAfter === null ? null : (cpuAfter - cpuBefore) / sortedMs.length,
    pages: sortedMs.length,
  };
}

await runProgram('bench:history', USAGE, main);
