/** `npm run bench:growth`: what a start and a page cost as a store grows, in cells and in segments. */
import path from 'node:path';
import { fullSegmentStore } from '../data/full-segments.js';
import type { GrowthStore, StoreShape } from '../data/growth-store.js';
import { PAGE_A, sizesOf } from '../data/pages.js';
import { namesFlag, readBenchFlags, wholeFlag } from '../flags.js';
import { temporaryFolder } from '../folder.js';
import { machineFacts, revision } from '../machine.js';
import { headingOf, reportProgress, runProgram, SMOKE_NOTE, writeResults } from '../program.js';
import { aligned, figure } from '../report.js';
import { measureServers, type ServeEffort, type ServeResult } from './serve.js';
import { tinySegmentStore } from './tiny-segments.js';

const PARTS = ['cells', 'segments'] as const;
const MOST = { cells: 10_000_000_000, tokens: 1_000_000, segments: 100_000_000 };

const USAGE = `npm run bench:growth -- [--only PART,PART] [--cells N] [--tokens N] [--segments N] [--smoke] [--json FILE]
  --only      parts: ${PARTS.join(', ')}
  --cells     cells of the largest store of full segments; default 100000000
  --tokens    tokens of the largest stores; default 1000
  --segments  segments of the largest store of tiny segments; default 1000000
  --smoke     small and short: shows that it works, not how fast
  --json FILE where the results go; default bench/results/growth.json`;

/** Segments of a page of tiny segments: about as many as in a page of full ones. */
const TINY_PAGE_SEGMENTS = 10;

/** Sizes of the stores as shares of the largest, smallest first. */
interface Sizes {
  cells: number;
  tokens: number;
  segments: number;
  cellShares: readonly number[];
  segmentShares: readonly number[];
}

type Shape = Omit<StoreShape, 'directory'>;

interface GrowthRow {
  store: Omit<GrowthStore, 'directory' | 'key'>;
  served: ServeResult;
}

async function main(words: readonly string[]): Promise<void> {
  const { values } = readBenchFlags(words, {
    options: {
      only: { type: 'string' },
      cells: { type: 'string' },
      tokens: { type: 'string' },
      segments: { type: 'string' },
      smoke: { type: 'boolean', default: false },
      json: { type: 'string', default: path.join('bench', 'results', 'growth.json') },
    },
  });
  const { smoke, only, json } = values;
  const parts = namesFlag('--only', only, PARTS);
  const whole = (name: keyof typeof MOST, usual: number) =>
    wholeFlag(`--${name}`, values[name] ?? String(usual), 1, MOST[name]);
  const sizes = {
    cells: whole('cells', smoke ? 40_000 : 100_000_000),
    tokens: whole('tokens', smoke ? 4 : 1000),
    segments: whole('segments', smoke ? 400 : 1_000_000),
    cellShares: smoke ? [1 / 4, 1] : [1 / 1000, 1 / 100, 1 / 10, 1],
    segmentShares: smoke ? [1] : [1 / 100, 1 / 10, 1],
  };
  const effort = smoke
    ? { starts: 1, pages: 4, warmups: 1, smoke }
    : { starts: 3, pages: 200, warmups: 30, smoke };
  const machine = machineFacts();
  const has = (part: (typeof PARTS)[number]): boolean => parts.includes(part);
  const results = {
    cells: has('cells') ? await rowsOf(cellShapes(sizes), fullSegmentStore, effort) : [],
    segments: has('segments') ? await rowsOf(segmentShapes(sizes), tinySegmentStore, effort) : [],
  };
  await writeResults(path.resolve(json), { machine, revision: revision(), smoke, results });
  const lines = [
    headingOf(machine),
    '',
    ...rowsTable('Stored cells, in full segments', results.cells),
    ...rowsTable('Stored segments, each of one tiny snapshot', results.segments),
    ...(smoke ? [SMOKE_NOTE] : []),
    FOOTER,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** Pages have as many snapshots as the smallest store's tokens, but at most as many as page A. */
function cellShapes({ cells, tokens, cellShares }: Sizes): Shape[] {
  const sizes = cellShares.map((share) => sizesOf(cells * share, tokens));
  const pageSnapshots = Math.min(PAGE_A.snapshots, ...sizes.map(({ snapshots }) => snapshots));
  return sizes.map((size, i) => ({ ...size, name: nameOf(cellShares, i), pageSnapshots }));
}

/** All stores have the same tokens, so that the segments of a page are equally far apart in each. */
function segmentShapes({ segments, segmentShares: shares, tokens: most }: Sizes): Shape[] {
  const least = Math.max(1, Math.floor(segments * shares[0]));
  const pageSnapshots = Math.min(TINY_PAGE_SEGMENTS, least);
  const tokens = Math.min(most, Math.max(1, Math.floor(least / pageSnapshots)));
  return shares.map((share, i) => ({
    name: nameOf(shares, i),
    tokens,
    pageSnapshots,
    snapshots: Math.max(pageSnapshots, Math.round((segments * share) / tokens)),
  }));
}

const nameOf = (shares: readonly number[], i: number): string =>
  `${Math.round(shares[i] / shares[0])}x`;

async function rowsOf(
  shapes: readonly Shape[],
  make: (shape: StoreShape) => Promise<GrowthStore>,
  effort: ServeEffort,
): Promise<GrowthRow[]> {
  const folder = temporaryFolder();
  try {
    const stores: GrowthStore[] = [];
    for (const shape of shapes) {
      reportProgress(
        `filling ${shape.name}: ${shape.tokens} tokens x ${shape.snapshots} snapshots`,
      );
      stores.push(await make({ ...shape, directory: path.join(folder.path, shape.name) }));
    }
    reportProgress('serving');
    const served = await measureServers(stores, effort);
    return stores.map(({ directory: _, key: __, ...store }, i) => ({ store, served: served[i] }));
  } finally {
    await folder.remove();
  }
}

const COLUMNS = (
  'store,tokens,M cells,segments,file MB,B/cell,fill s,listens ms,most,start cpu ms,first page ms,' +
  'MB then,page KB,p50 ms,p99,cpu ms,p50 x,cpu x,MB at end'
).split(',');

const FOOTER =
  'listens, first page: from the start of the process, median of the starts (most: the longest); cpu: all ' +
  'threads, which hardly depends on what else runs. Pages: one client asks the servers of a block in turn for ' +
  'a random window of a random token, group=venue gzip, which no cache holds; so the ratios (x, to the first ' +
  'store of the block) hold on a busy machine, too, but the times do not. The servers keep no cells ' +
  "(--blocks-memory-mib 0): after some pages they would hold all of the small store's. A token's older " +
  "segments are looked up at its first request. The files are in the system's cache: no disk is involved. Full " +
  'segments repeat a few histories under other names and times: the file compresses as those do. Tiny segments ' +
  'stand for the index of a store of as many full ones: their page is not page A, and their bytes per cell mean ' +
  'nothing.';

function rowsTable(title: string, rows: readonly GrowthRow[]): string[] {
  if (rows.length === 0) return [];
  const [{ served: least }] = rows;
  return [title, ...aligned([COLUMNS, ...rows.map((row) => cellsOf(row, least))], ['store']), ''];
}

function cellsOf({ store, served }: GrowthRow, least: ServeResult): string[] {
  const known = (value: number | null): string => (value === null ? '' : figure(value));
  const ratio = (value: number | null, of: number | null): string =>
    value === null || of === null || of === 0 ? '' : figure(value / of);
  return [
    store.name,
    ...[store.tokens, store.cells / 1e6, store.segments, store.fileBytes / 1e6].map(figure),
    ...[store.fileBytes / store.cells, store.fillS, served.listenMs, served.listenMaxMs].map(
      figure,
    ),
    ...[served.listenCpuMs, served.firstPageMs, served.startMegabytes].map(known),
    ...[served.bytes / 1000, served.p50Ms, served.p99Ms].map(figure),
    known(served.cpuMs),
    ratio(served.p50Ms, least.p50Ms),
    ratio(served.cpuMs, least.cpuMs),
    known(served.endMegabytes),
  ];
}

await runProgram('bench:growth', USAGE, main);
