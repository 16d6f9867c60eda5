/** `npm run bench:growth`: what a start and a page cost as a store grows, and its file after a day. */
import path from 'node:path';
import { temporaryFolder } from '../folder.js';
import { machineFacts, revision } from '../machine.js';
import { PAGE_A, sizesOf } from '../data/pages.js';
import { headingOf, runProgram, SMOKE_NOTE, reportProgress, writeResults } from '../program.js';
import { measureDay, type DayResult } from './day.js';
import { fullSegmentStore } from '../data/full-segments.js';
import type { GrowthStore, StoreShape } from '../data/growth-store.js';
import { readGrowthOptions, USAGE, type GrowthOptions } from './options.js';
import { dayTable, FOOTER, rowsTable, type GrowthRow } from './report.js';
import { measureServers } from './serve.js';
import { tinySegmentStore } from './tiny-segments.js';

/** Segments of a page of tiny segments: about as many as in a page of full ones. */
const TINY_PAGE_SEGMENTS = 10;

interface GrowthResults {
  cells: GrowthRow[];
  segments: GrowthRow[];
  day: DayResult | null;
}

async function main(words: readonly string[]): Promise<void> {
  const options = readGrowthOptions(words);
  const machine = machineFacts();
  const results = await measure(options);
  const document = { machine, revision: revision(), smoke: options.smoke, results };
  await writeResults(options.jsonFile, document);
  const lines = [
    headingOf(machine),
    '',
    ...rowsTable('Stored cells, in full segments', results.cells),
    ...rowsTable('Stored segments, each of one tiny snapshot', results.segments),
    ...(results.day === null ? [] : dayTable(results.day)),
    ...(options.smoke ? [SMOKE_NOTE] : []),
    FOOTER,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

async function measure(options: GrowthOptions): Promise<GrowthResults> {
  const has = (part: GrowthOptions['parts'][number]) => options.parts.includes(part);
  return {
    cells: has('cells') ? await rowsOf(cellShapes(options), fullSegmentStore, options) : [],
    segments: has('segments')
      ? await rowsOf(segmentShapes(options), tinySegmentStore, options)
      : [],
    day: has('day') ? await day(options) : null,
  };
}

/** Pages have as many snapshots as the smallest store's tokens, but at most as many as page A. */
function cellShapes({ cells, tokens, cellShares }: GrowthOptions): Omit<StoreShape, 'directory'>[] {
  const sizes = cellShares.map((share) => sizesOf(cells * share, tokens));
  const pageSnapshots = Math.min(PAGE_A.snapshots, ...sizes.map(({ snapshots }) => snapshots));
  return sizes.map((size, i) => ({ ...size, name: nameOf(cellShares, i), pageSnapshots }));
}

/** All stores have the same tokens, so that the segments of a page are equally far apart in each. */
function segmentShapes(options: GrowthOptions): Omit<StoreShape, 'directory'>[] {
  const { segments, segmentShares: shares } = options;
  const least = Math.max(1, Math.floor(segments * shares[0]));
  const pageSnapshots = Math.min(TINY_PAGE_SEGMENTS, least);
  const tokens = Math.min(options.tokens, Math.max(1, Math.floor(least / pageSnapshots)));
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
  shapes: readonly Omit<StoreShape, 'directory'>[],
  make: (shape: StoreShape) => Promise<GrowthStore>,
  effort: GrowthOptions,
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

async function day(options: GrowthOptions): Promise<DayResult> {
  reportProgress(`a day: ${options.dayCommits} commits of ${options.dayTokens} snapshots`);
  const folder = temporaryFolder();
  try {
    return await measureDay(folder.path, options);
  } finally {
    await folder.remove();
  }
}

await runProgram('bench:growth', USAGE, main);
