/** The pool's entry points for making segments. */
import { MAX_CELLS_PER_SNAPSHOT, MAX_SNAPSHOT_CENTS } from '../ladder.js';
import type { Market } from '../market.js';
import {
  type JoinMode,
  joinRuns,
  type MarketRun,
  PriceConflictError,
  remapMarkets,
} from './merge.js';
import type { SnapshotRun } from './run.js';
import {
  decodeSegment,
  describeSegment,
  type EncodedSegment,
  sliceRun,
  splitRun,
} from './segment.js';

/** Segments ready to be stored, and the markets that they index. */
export interface JoinedSegments {
  segments: EncodedSegment[];
  markets: Market[];
}

/**
 * Joins runs fresh from binning and encodes the result as segments of the usual size. What is to be
 * merged keeps its cells without amounts until it meets what is stored.
 */
export function encodeRuns(input: { parts: MarketRun[]; mode: JoinMode }): JoinedSegments {
  const { run, markets } = joinRuns(input.parts, input.mode, input.mode === 'merge');
  return { segments: splitRun(run).map(describeSegment), markets: [...markets] };
}

/** A block, of which snapshots `fromRow <= row < toRow` are laid over the stored ones. */
export interface AddedBlock {
  block: Uint8Array;
  fromRow: number;
  toRow: number;
  /** The block's market index -> the token's; null where they agree. */
  marketMap: Uint16Array | null;
}

/** What rewriteSegments joins: stored blocks, oldest first, and what is laid over them. */
export interface RewriteInput {
  stored: Uint8Array[];
  added: AddedBlock | null;
  mode: JoinMode;
}

/**
 * `unchanged`: the stored blocks hold all of it already. `price-conflict`: a snapshot to be merged
 * has another price in the store than it was made for. `too-large`: a merged snapshot would hold
 * more than a snapshot may. (A worker's errors lose their class on the way: hence results.)
 */
export type RewriteResult =
  | { status: 'done'; segments: EncodedSegment[] }
  | { status: 'unchanged' }
  | { status: 'price-conflict'; t: number }
  | { status: 'too-large'; t: number; limit: string };

/**
 * Lays a block over stored ones of the same token and tier and cuts the result into segments.
 * Without `added` it only joins small segments into large ones.
 */
export function rewriteSegments(input: RewriteInput): RewriteResult {
  const { added, mode } = input;
  const stored = input.stored.map(decodeSegment);
  if (added === null) return done(joined(stored, 'replace'));
  let run: SnapshotRun;
  try {
    run = joined([...stored, runOfAdded(added)], mode);
  } catch (error) {
    if (error instanceof PriceConflictError) return { status: 'price-conflict', t: error.t };
    throw error;
  }
  const excess = mode === 'merge' ? findExcess(run) : null;
  if (excess !== null) return { status: 'too-large', ...excess };
  if (stored.length > 0 && isSameRun(joined(stored, 'replace'), run))
    return { status: 'unchanged' };
  return done(run);
}

function runOfAdded({ block, fromRow, toRow, marketMap }: AddedBlock): SnapshotRun {
  const run = sliceRun(decodeSegment(block), fromRow, toRow);
  return marketMap === null ? run : remapMarkets(run, marketMap);
}

/** Runs whose market indexes already are the token's own: no lists are to be brought together. */
function joined(runs: readonly SnapshotRun[], mode: JoinMode): SnapshotRun {
  return joinRuns(
    runs.map((run) => ({ run, markets: [] })),
    mode,
  ).run;
}

function done(run: SnapshotRun): RewriteResult {
  return { status: 'done', segments: splitRun(run).map(describeSegment) };
}

/** The first snapshot that holds more than one may: two halves, each within the limits, may not be. */
function findExcess(run: SnapshotRun): { t: number; limit: string } | null {
  for (let s = 0; s < run.t.length; s++) {
    const first = run.cellOffsets[s];
    const last = run.cellOffsets[s + 1];
    if (last - first > MAX_CELLS_PER_SNAPSHOT) {
      return { t: run.t[s], limit: `${MAX_CELLS_PER_SNAPSHOT} cells` };
    }
    let cents = 0;
    for (let c = first; c < last; c++) cents += run.supportCents[c] + run.resistanceCents[c];
    if (cents > MAX_SNAPSHOT_CENTS) {
      return { t: run.t[s], limit: `${MAX_SNAPSHOT_CENTS} cents in all` };
    }
  }
  return null;
}

function isSameRun(a: SnapshotRun, b: SnapshotRun): boolean {
  return (
    isSameColumn(a.t, b.t) &&
    isSameColumn(a.priceUsd, b.priceUsd) &&
    isSameColumn(a.cellOffsets, b.cellOffsets) &&
    isSameColumn(a.market, b.market) &&
    isSameColumn(a.bin, b.bin) &&
    isSameColumn(a.supportCents, b.supportCents) &&
    isSameColumn(a.resistanceCents, b.resistanceCents)
  );
}

function isSameColumn(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
