/** Fills a store with the simulated market's history and continues it, through ingest. */
import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { BinnedChunk } from '../compute/ingest/binned-chunk.js';
import { TIER_LENGTH_S } from '../compute/market.js';
import type { ComputePool, OtherTask } from '../compute/pool.js';
import { makeDirectory } from '../storage/data-directory.js';
import { InputError } from '../storage/errors.js';
import { inOrder } from '../storage/ingest/binning.js';
import { prepareDepth } from '../storage/ingest/depth.js';
import { prepareTable } from '../storage/ingest/tables.js';
import { commitPrepared } from '../storage/ingest/ingest.js';
import type { UseStore } from '../storage/operations.js';
import { wallS } from '../storage/wall-clock.js';
import type { FileReport } from '../storage/ingest/prepared.js';
import type { NumberedRow } from '../storage/ingest/columns.js';
import { demoFlatChanges, demoFlatRows, type DemoRows } from './flat.js';
import {
  DEMO_RAW_S,
  demoPlan,
  demoSnapshotTimes,
  type DemoUnit,
  type DemoUnitInput,
} from './history.js';
import { type DemoToken, demoTokenRows, demoTokens } from './tokens.js';

const SIMULATE: OtherTask = { file: 'demo/worker.js', name: 'simulate' };
/** Marks a data directory that holds the simulated market and says which one. */
const MARKER_FILE = 'demo.json';
/** Replaces the file's name in faults. */
const SOURCE = 'simulated market';
/** Units per commit: few, to make pages work soon. */
const UNITS_PER_COMMIT = 6;
/** Snapshots, of up to 2,000 cells each, that a thread makes at once: few, to save memory. */
const SNAPSHOTS_PER_CHUNK = 128;
/** How often a live market is extended. */
export const EXTEND_EVERY_MS = 5000;
/** Memory of so many snapshots while they are made. */
const CHUNK_BYTES = 16 * 1024 * 1024;
/** The longest gap that is filled whole; of a longer one, only the last part of this length is filled. */
const MAX_GAP_S = DEMO_RAW_S;

export interface DemoMarker {
  seed: number;
  /** The end of the history, in epoch seconds. */
  untilS: number;
  /** Whether the history is complete. */
  filled: boolean;
  /** The time up to which orders, holders and the other flat datasets were collected after the fill. */
  collectedS?: number;
}

export interface DemoRequest {
  directory: string;
  pool: ComputePool;
  useStore: UseStore;
  /** Which tokens to simulate; default: all of them. */
  only?: (token: DemoToken) => boolean;
  /** Called after every commit of depth: units done and to do, and what has been stored so far. */
  onProgress?: (done: number, of: number, stored: DemoTotals) => void;
  /** Whether a fill also keeps the store up to the present while it makes the past. */
  isLive?: boolean;
  signal?: AbortSignal;
}

/** Rows, snapshots and cells that a fill has stored. */
export type DemoTotals = Omit<FileReport, 'file' | 'replaced' | 'warnings' | 'earlierLevels'>;

/**
 * The directory's marker, or null if it holds no simulated market.
 * @throws InputError if the marker is damaged
 */
export async function readMarker(directory: string): Promise<DemoMarker | null> {
  const file = path.join(directory, MARKER_FILE);
  const text = await readFile(file, 'utf8').catch(() => null);
  if (text === null) return null;
  try {
    const marker = JSON.parse(text) as DemoMarker;
    if (Number.isInteger(marker.seed) && Number.isInteger(marker.untilS)) return marker;
  } catch {
    // Damaged: reported below.
  }
  throw new InputError(`${file}: expected the demo's marker`);
}

export async function writeMarker(directory: string, marker: DemoMarker): Promise<void> {
  const file = path.join(directory, MARKER_FILE);
  await makeDirectory(directory);
  await writeFile(`${file}.new`, `${JSON.stringify(marker)}\n`);
  await rename(`${file}.new`, file);
}

/**
 * Fills in the history that the marker names, newest first. Skips stored snapshots, so an
 * interrupted fill continues where it ended.
 */
export async function fillDemo(request: DemoRequest, marker: DemoMarker): Promise<DemoTotals> {
  const { directory, useStore } = request;
  const { seed, untilS } = marker;
  await writeMarker(directory, marker);
  const tokens = tokensOf(request, seed);
  const rows = demoTokenRows(seed, untilS);
  await commitPrepared(useStore, () => prepareTable(bundleOf(request), 'tokens', [numbered(rows)]));
  const missing = await useStore(async (store) => {
    const units: DemoUnit[] = [];
    for (const unit of demoPlan(tokens, untilS)) {
      const { token, tier, fromS, toS } = unit;
      const { chain, address } = token;
      const stored = new Set(await store.snapshotTimes({ chain, address, tier }));
      const isStored = demoSnapshotTimes(token, fromS, toS, tier).every((t) => stored.has(t));
      if (!isStored) units.push(unit);
    }
    return units;
  });
  const flat = demoFlatRows(tokens, untilS);
  const isHolders = ({ dataset }: DemoRows) => dataset === 'holders';
  const isPresent = ({ tier, toS }: DemoUnit) => tier === 'raw' && toS > untilS;
  const present = missing.filter(isPresent);
  const past = missing.filter((unit) => !isPresent(unit));
  const totals: DemoTotals = { rows: rows.length, snapshots: 0, cells: 0, droppedLevels: 0 };
  const progress = (units: number) => request.onProgress?.(units, missing.length, totals);
  // The present first, then the many wallets, then the rest of the past.
  totals.rows += await commitFlat(
    request,
    flat.filter((one) => !isHolders(one)),
  );
  await commitUnits(request, seed, present, UNITS_PER_COMMIT, totals, progress);
  let extendAtMs = 0;
  const keepUp = async (): Promise<void> => {
    if (request.isLive !== true || performance.now() < extendAtMs) return;
    await extendDepth(request, seed, wallS());
    extendAtMs = performance.now() + EXTEND_EVERY_MS;
  };
  await keepUp();
  totals.rows += await commitFlat(request, flat.filter(isHolders));
  await commitUnits(request, seed, past, UNITS_PER_COMMIT, totals, (done) => {
    progress(present.length + done);
    return keepUp();
  });
  if (request.signal?.aborted !== true) await writeMarker(directory, { ...marker, filled: true });
  return totals;
}

/**
 * Extends the market's depth from the end of the store to `nowS`, by a day at most.
 * @returns what was stored
 */
export async function extendDepth(
  request: DemoRequest,
  seed: number,
  nowS: number,
): Promise<DemoTotals> {
  const units = await request.useStore(async (store) => {
    const due: DemoUnit[] = [];
    for (const token of tokensOf(request, seed)) {
      const { chain, address } = token;
      const last = (await store.snapshotTimes({ chain, address, tier: 'raw' })).at(-1) ?? 0;
      const unit: DemoUnit = {
        token,
        tier: 'raw',
        fromS: Math.max(last + 1, nowS - MAX_GAP_S),
        toS: nowS + 1,
      };
      if (demoSnapshotTimes(token, unit.fromS, unit.toS, 'raw').length > 0) due.push(unit);
    }
    return due;
  });
  const totals: DemoTotals = { rows: 0, snapshots: 0, cells: 0, droppedLevels: 0 };
  // In one commit, so readers see all tokens at the same moment.
  await commitUnits(request, seed, units, units.length, totals);
  return totals;
}

/**
 * Commits the orders, holders, pools and hours that changed since the market was last collected.
 * @returns the updated marker
 */
export async function collectFlat(
  request: DemoRequest,
  marker: DemoMarker,
  nowS: number,
): Promise<DemoMarker> {
  const sinceS = marker.collectedS ?? marker.untilS;
  if (nowS <= sinceS) return marker;
  await commitFlat(request, demoFlatChanges(tokensOf(request, marker.seed), sinceS, nowS));
  const collected = { ...marker, collectedS: nowS };
  await writeMarker(request.directory, collected);
  return collected;
}

function tokensOf({ only = () => true }: DemoRequest, seed: number): DemoToken[] {
  return demoTokens(seed).filter(only);
}

function bundleOf({ directory }: DemoRequest) {
  return { directory, file: SOURCE, mode: 'replace' as const };
}

/** Commits units, some together, and adds what they hold to `totals`. */
async function commitUnits(
  request: DemoRequest,
  seed: number,
  units: readonly DemoUnit[],
  unitsPerCommit: number,
  totals: DemoTotals,
  onCommit?: (done: number) => void | Promise<void>,
): Promise<void> {
  for (let first = 0; first < units.length; first += unitsPerCommit) {
    if (request.signal?.aborted === true) return;
    const some = units.slice(first, first + unitsPerCommit);
    const target = { ...bundleOf(request), pool: request.pool, together: false };
    const report = await commitPrepared(request.useStore, () =>
      prepareDepth(target, binnedUnits(request.pool, seed, some)),
    );
    totals.rows += report.rows;
    totals.snapshots += report.snapshots;
    totals.cells += report.cells;
    totals.droppedLevels += report.droppedLevels;
    await onCommit?.(first + some.length);
  }
}

function binnedUnits(
  pool: ComputePool,
  seed: number,
  units: readonly DemoUnit[],
): AsyncGenerator<BinnedChunk> {
  const parts = units.flatMap(({ token, tier, fromS, toS }) => {
    const partS = SNAPSHOTS_PER_CHUNK * (tier === 'raw' ? token.cadenceS : TIER_LENGTH_S[tier]);
    return Array.from({ length: Math.ceil((toS - fromS) / partS) }, (_, i): DemoUnitInput => {
      const from = fromS + i * partS;
      const part = { fromS: from, toS: Math.min(toS, from + partS) };
      return { seed, tokenIndex: token.index, tier, ...part };
    });
  });
  const bin = (part: DemoUnitInput) =>
    pool.runOther<DemoUnitInput, BinnedChunk>('commit', SIMULATE, part);
  return inOrder(parts, bin, () => CHUNK_BYTES, pool.threads);
}

/** @returns the number of rows */
async function commitFlat(request: DemoRequest, datasets: readonly DemoRows[]): Promise<number> {
  let committed = 0;
  for (const { dataset, rows } of datasets) {
    if (request.signal?.aborted === true) break;
    const report = await commitPrepared(request.useStore, () =>
      prepareTable(bundleOf(request), dataset, [numbered(rows())]),
    );
    committed += report.rows;
  }
  return committed;
}

function* numbered(rows: Iterable<object>): Iterable<NumberedRow> {
  let line = 0;
  for (const row of rows) yield { line: ++line, row };
}
