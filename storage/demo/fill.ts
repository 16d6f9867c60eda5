/** Fills a store with the simulated market's history and carries it on, by the ingest path. */
import {
  DEMO_RAW_S,
  demoPlan,
  demoSnapshotTimes,
  demoTokenRows,
  demoTokens,
  type DemoToken,
  type DemoUnit,
} from '../../compute/demo/market.js';
import type { ComputePool } from '../../compute/pool.js';
import { commitPrepared, type UseStore } from '../ingest/ingest.js';
import type { Piece } from '../ingest/pieces.js';
import { preparePieces, prepareTokenRows, type FileReport } from '../ingest/prepare.js';
import type { StoreOperations } from '../operations.js';
import { writeMarker, type DemoMarker } from './marker.js';

/** Units that are committed together; the first commits are small, so that pages are there soon. */
const UNITS_A_COMMIT = 6;
/** A pause longer than this is not filled in whole. */
const MAX_GAP_S = DEMO_RAW_S;
const SOURCE = 'simulated market';

export interface DemoRequest {
  directory: string;
  pool: ComputePool;
  useStore: UseStore;
  /** Which tokens are simulated; without it all of them. */
  only?: (token: DemoToken) => boolean;
  /** Told after every commit: units done and to do, and what has been stored so far. */
  onProgress?: (done: number, of: number, stored: Omit<FileReport, 'file'>) => void;
  signal?: AbortSignal;
}

/** Rows, snapshots and cells of everything that a fill has stored. */
export type DemoTotals = Omit<FileReport, 'file'>;

/**
 * Fills in the history that the marker names, newest first; what is stored already is left out, so
 * that an interrupted fill goes on where it ended.
 */
export async function fillDemo(request: DemoRequest, marker: DemoMarker): Promise<DemoTotals> {
  const { directory, useStore } = request;
  await writeMarker(directory, marker);
  const tokens = tokensOf(request, marker.seed);
  const rows = demoTokenRows(marker.seed, marker.untilS);
  await commitPrepared(useStore, () =>
    prepareTokenRows(
      { directory, file: SOURCE, mode: 'replace' },
      rows.map((row, i) => ({ line: i + 1, row })),
    ),
  );
  const missing = await useStore(async (store) => {
    const units: DemoUnit[] = [];
    for (const unit of demoPlan(tokens, marker.untilS)) {
      if (!(await isStored(unit, store))) units.push(unit);
    }
    return units;
  });
  const totals = await commitUnits(request, marker.seed, missing);
  totals.rows += rows.length;
  if (request.signal?.aborted !== true) await writeMarker(directory, { ...marker, filled: true });
  return totals;
}

/**
 * Brings the market from where the store ends up to `nowS`, a day at most.
 * @returns what was stored
 */
export async function carryOn(
  request: DemoRequest,
  seed: number,
  nowS: number,
): Promise<DemoTotals> {
  const tokens = tokensOf(request, seed).filter(({ markets }) => markets.length > 0);
  const units = await request.useStore(async (store) => {
    const due: DemoUnit[] = [];
    for (const token of tokens) {
      const times = await store.snapshotTimes({ ...keyOf(token), tier: 'raw' });
      const last = times.length === 0 ? 0 : times[times.length - 1];
      const unit = nextUnit(token, Math.max(last + 1, nowS - MAX_GAP_S), nowS + 1);
      if (unit !== null) due.push(unit);
    }
    return due;
  });
  return commitUnits(request, seed, units, units.length);
}

function tokensOf({ only = () => true }: DemoRequest, seed: number): DemoToken[] {
  return demoTokens(seed).filter(only);
}

function nextUnit(token: DemoToken, fromS: number, toS: number): DemoUnit | null {
  const due = fromS < toS && demoSnapshotTimes(token, fromS, toS, 'raw').length > 0;
  return due ? { token, tier: 'raw', fromS, toS } : null;
}

async function commitUnits(
  request: DemoRequest,
  seed: number,
  units: readonly DemoUnit[],
  unitsACommit: number = UNITS_A_COMMIT,
): Promise<DemoTotals> {
  const { directory, pool, useStore } = request;
  const totals: DemoTotals = { rows: 0, snapshots: 0, cells: 0, droppedLevels: 0 };
  for (let first = 0; first < units.length; first += unitsACommit) {
    if (request.signal?.aborted === true) break;
    const some = units.slice(first, first + unitsACommit);
    const report = await commitPrepared(useStore, () =>
      preparePieces(
        { directory, file: SOURCE, mode: 'replace', pool, together: false },
        unitPieces(seed, some),
        null,
      ),
    );
    totals.rows += report.rows;
    totals.snapshots += report.snapshots;
    totals.cells += report.cells;
    totals.droppedLevels += report.droppedLevels;
    request.onProgress?.(first + some.length, units.length, totals);
  }
  return totals;
}

// The pieces of a preparation are an AsyncIterable; these need no waiting.
// eslint-disable-next-line @typescript-eslint/require-await
async function* unitPieces(seed: number, units: readonly DemoUnit[]): AsyncGenerator<Piece> {
  for (const { token, tier, fromS, toS } of units) {
    const unit = { seed, tokenIndex: token.index, tier, fromS, toS };
    yield { kind: 'demoUnit', firstLine: 1, unit };
  }
}

async function isStored(unit: DemoUnit, store: StoreOperations): Promise<boolean> {
  const { token, tier, fromS, toS } = unit;
  const times = new Set(await store.snapshotTimes({ ...keyOf(token), tier }));
  return demoSnapshotTimes(token, fromS, toS, tier).every((t) => times.has(t));
}

function keyOf({ chain, address }: DemoToken): Pick<DemoToken, 'chain' | 'address'> {
  return { chain, address };
}
