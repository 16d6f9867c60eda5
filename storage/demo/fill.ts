/** Fills a store with the simulated market's history and carries it on, by the ingest path. */
import {
  DEMO_RAW_S,
  demoPlan,
  demoSnapshotTimes,
  demoTokenRows,
  type DemoToken,
  type DemoUnit,
} from '../../compute/demo/market.js';
import { commitPrepared } from '../ingest/ingest.js';
import type { Piece } from '../ingest/pieces.js';
import { preparePieces } from '../ingest/prepare-depth.js';
import { prepareTokenRows } from '../ingest/prepare-rows.js';
import type { StoreOperations } from '../contract.js';
import { fillFlat } from './flat.js';
import { writeMarker, type DemoMarker } from './marker.js';
import { SOURCE, tokensOf, type DemoRequest, type DemoTotals } from './request.js';

/** Units that are committed together; the first commits are small, so that pages are there soon. */
const UNITS_A_COMMIT = 6;
/** A pause longer than this is not filled in whole. */
const MAX_GAP_S = DEMO_RAW_S;

/** How far a fill has come. */
interface Filling {
  done: number;
  of: number;
  totals: DemoTotals;
}

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
  const others = await fillFlat(request, marker, 'others');
  // The present first, then the wallets, which are many, then the rest of the past.
  const present = missing.filter(({ tier, toS }) => tier === 'raw' && toS > marker.untilS);
  const past = missing.filter((unit) => !present.includes(unit));
  const filling = nothingYet(missing.length);
  await commitUnits(request, marker.seed, present, filling);
  const holders = await fillFlat(request, marker, 'holders');
  await commitUnits(request, marker.seed, past, filling);
  filling.totals.rows += rows.length + others + holders;
  if (request.signal?.aborted !== true) await writeMarker(directory, { ...marker, filled: true });
  return filling.totals;
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
  const filling = nothingYet(units.length);
  // All of them together: the present is not to come in pieces.
  await commitUnits(request, seed, units, filling, units.length);
  return filling.totals;
}

function nothingYet(of: number): Filling {
  return { done: 0, of, totals: { rows: 0, snapshots: 0, cells: 0, droppedLevels: 0 } };
}

function nextUnit(token: DemoToken, fromS: number, toS: number): DemoUnit | null {
  const due = fromS < toS && demoSnapshotTimes(token, fromS, toS, 'raw').length > 0;
  return due ? { token, tier: 'raw', fromS, toS } : null;
}

/** Commits units, some together; `filling` goes on with them. */
async function commitUnits(
  request: DemoRequest,
  seed: number,
  units: readonly DemoUnit[],
  filling: Filling,
  unitsACommit: number = UNITS_A_COMMIT,
): Promise<void> {
  const { totals } = filling;
  const { directory, pool, useStore } = request;
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
    filling.done += some.length;
    request.onProgress?.(filling.done, filling.of, totals);
  }
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
