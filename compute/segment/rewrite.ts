/** Makes and rewrites segments: tasks of the pool. */
import { MAX_CELLS_PER_SNAPSHOT, MAX_SNAPSHOT_CENTS } from '../ladder.js';
import { type Market, type Tier, TIERS } from '../market.js';
import { firstFrom } from '../search.js';
import {
  countCells,
  type JoinMode,
  joinRuns,
  type MarketRun,
  PriceConflictError,
  remapMarkets,
} from './merge.js';
import { removeCells, type Removal, type Removed } from './remove.js';
import { replacedSnapshots, type ReplacedSnapshots } from './replaced.js';
import type { SnapshotRun } from './run.js';
import {
  decodeSegment,
  describeSegment,
  type EncodedSegment,
  sliceRun,
  splitRun,
} from './segment.js';

/** Segments to be stored, and the markets that they index. */
export interface JoinedSegments {
  segments: EncodedSegment[];
  markets: Market[];
  /** Cells with amounts in all of them. */
  cells: number;
}

/**
 * Joins newly binned runs and encodes the result as segments. In mode `merge`, cells without amounts are kept
 * until the segments are merged with stored ones.
 */
export function encodeRuns(input: { parts: MarketRun[]; mode: JoinMode }): JoinedSegments {
  const { run, markets } = joinRuns(input.parts, input.mode, input.mode === 'merge');
  return {
    segments: splitRun(run).map(describeSegment),
    markets: [...markets],
    cells: input.mode === 'merge' ? countCells(run) : run.bin.length,
  };
}

/** A block whose snapshots `fromRow <= row < toRow` replace stored ones or are merged with them. */
interface AddedBlock {
  block: Uint8Array;
  fromRow: number;
  toRow: number;
  /** Market index of the block -> the token's; null if they are the same. */
  marketMap: Uint16Array | null;
}

/** Snapshot `row` of a stored block as the snapshot at `t` of another tier. */
export interface SnapshotCopy {
  block: number;
  row: number;
  tier: Tier;
  t: number;
}

/** Input of rewriteSegments(): stored blocks, oldest first, and new snapshots. */
export interface RewriteInput {
  stored: Uint8Array[];
  added: AddedBlock | null;
  /** What to remove from the stored blocks instead. */
  removal?: Removal;
  /** The only snapshots of the stored blocks to join, `fromS <= t < toS`. */
  window?: { fromS: number; toS: number };
  /** What to copy from them instead, ascending in `t` within a tier. */
  copies?: readonly SnapshotCopy[];
  mode: JoinMode;
}

/**
 * `replaced` is null if nothing was added. `unchanged`: the stored blocks already contain everything.
 * `price-conflict`: a snapshot to be merged was binned at another price than the stored one.
 * `too-large`: a merged snapshot would exceed a limit. These are results because errors lose their class
 * between threads.
 */
export type RewriteResult =
  | { status: 'done'; segments: EncodedSegment[]; replaced: ReplacedSnapshots | null }
  | { status: 'removed'; segments: EncodedSegment[]; removed: Removed }
  | { status: 'copied'; tiers: { tier: Tier; segments: EncodedSegment[] }[] }
  | { status: 'unchanged'; replaced: ReplacedSnapshots }
  | { status: 'price-conflict'; t: number }
  | { status: 'too-large'; t: number; limit: string };

/**
 * Joins a block with stored blocks of the same token and tier, or removes or copies snapshots, and splits the
 * result into segments. Without any of these it only joins small segments into larger ones.
 */
export function rewriteSegments(input: RewriteInput): RewriteResult {
  const { added, mode } = input;
  const stored = input.stored.map(decodeSegment);
  if (input.removal !== undefined) {
    const { run, removed } = removeCells(joined(stored, 'replace'), input.removal);
    return { status: 'removed', segments: segmentsOf(run), removed };
  }
  if (input.copies !== undefined) return { status: 'copied', tiers: copied(stored, input.copies) };
  if (added === null) return done(inWindow(joined(stored, 'replace'), input.window), null);
  const addedRun = runOfAdded(added);
  let run: SnapshotRun;
  try {
    run = joined([...stored, addedRun], mode);
  } catch (error) {
    if (error instanceof PriceConflictError) return { status: 'price-conflict', t: error.t };
    throw error;
  }
  const excess = mode === 'merge' ? findExcess(run) : null;
  if (excess !== null) return { status: 'too-large', ...excess };
  const replaced = replacedSnapshots(stored, addedRun, mode);
  if (stored.length > 0 && isSameRun(joined(stored, 'replace'), run)) {
    return { status: 'unchanged', replaced };
  }
  return done(run, replaced);
}

function runOfAdded({ block, fromRow, toRow, marketMap }: AddedBlock): SnapshotRun {
  const run = sliceRun(decodeSegment(block), fromRow, toRow);
  return marketMap === null ? run : remapMarkets(run, marketMap);
}

/** Joins runs whose market indexes are the token's own: no lists need to be unified. */
function joined(runs: readonly SnapshotRun[], mode: JoinMode): SnapshotRun {
  return joinRuns(
    runs.map((run) => ({ run, markets: [] })),
    mode,
  ).run;
}

function inWindow(run: SnapshotRun, window: RewriteInput['window']): SnapshotRun {
  if (window === undefined) return run;
  return sliceRun(run, firstFrom(run.t, window.fromS), firstFrom(run.t, window.toS));
}

function copied(
  stored: readonly SnapshotRun[],
  copies: readonly SnapshotCopy[],
): { tier: Tier; segments: EncodedSegment[] }[] {
  return TIERS.flatMap((tier) => {
    const runs = copies
      .filter((copy) => copy.tier === tier)
      .map(({ block, row, t }) => ({
        ...sliceRun(stored[block], row, row + 1),
        tier,
        t: Uint32Array.of(t),
      }));
    return runs.length === 0 ? [] : [{ tier, segments: segmentsOf(joined(runs, 'replace')) }];
  });
}

function done(run: SnapshotRun, replaced: ReplacedSnapshots | null): RewriteResult {
  return { status: 'done', segments: segmentsOf(run), replaced };
}

function segmentsOf(run: SnapshotRun): EncodedSegment[] {
  return splitRun(run).map(describeSegment);
}

/** The first snapshot beyond a limit: merging two snapshots within the limits may exceed them. */
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
