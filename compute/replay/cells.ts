/** Cells as a page serves them: one snapshot's ranges copied market by market, or summed by group. */
import { BIN_COUNT, MIN_BIN } from '../ladder/ladder.js';
import type { RunColumns } from '../segment/run.js';
import type { MarketRanges } from './ranges.js';

/** Columns of served cells under construction, `length` of them filled. */
export interface ServedCells {
  length: number;
  /** Slot of the cell's market or group. */
  index: Uint16Array;
  bin: Int16Array;
  supportCents: Float64Array;
  resistanceCents: Float64Array;
}

export function emptyCells(capacity: number): ServedCells {
  return {
    length: 0,
    index: new Uint16Array(capacity),
    bin: new Int16Array(capacity),
    supportCents: new Float64Array(capacity),
    resistanceCents: new Float64Array(capacity),
  };
}

/** Where a page's cells are put together. */
export type CellRoom = (capacity: number) => ServedCells;

/**
 * Room that every page takes anew: the cells of one page last until the next one is built. A page's
 * columns are megabytes; what is not thrown away need not be collected.
 */
export function reusedCells(): CellRoom {
  let kept = emptyCells(0);
  return (capacity) => {
    if (kept.bin.length < capacity) kept = emptyCells(capacity);
    kept.length = 0;
    return kept;
  };
}

/** Appends the ranges whose market has a slot, cell by cell: group=market. */
export function appendMarkets(
  cells: ServedCells,
  run: RunColumns,
  ranges: MarketRanges,
  slot: Int32Array,
): void {
  for (let r = 0; r < ranges.count; r++) {
    const index = slot[ranges.market[r]];
    if (index >= 0) appendRange(cells, run, ranges.start[r], ranges.end[r], index);
  }
}

function appendRange(
  cells: ServedCells,
  run: RunColumns,
  start: number,
  end: number,
  slot: number,
): void {
  const { index, bin, supportCents, resistanceCents } = cells;
  let at = cells.length;
  for (let i = start; i < end; i++, at++) {
    index[at] = slot;
    bin[at] = run.bin[i];
    supportCents[at] = run.supportCents[i];
    resistanceCents[at] = run.resistanceCents[i];
  }
  cells.length = at;
}

/** Scratch of one page's sums: one ladder, and a chain of ranges for every group. */
export interface GroupScratch {
  /** First range of each group, -1 where it has none in the snapshot. */
  head: Int32Array;
  /** Next range of the same group, -1 at the last. */
  next: Int32Array;
  /** Ladder of the group being summed, by bin - MIN_BIN; all zero between groups. */
  seen: Uint8Array;
  supportCents: Float64Array;
  resistanceCents: Float64Array;
}

export function groupScratch(groupCount: number, marketCount: number): GroupScratch {
  return {
    head: new Int32Array(groupCount).fill(-1),
    next: new Int32Array(marketCount),
    seen: new Uint8Array(BIN_COUNT),
    supportCents: new Float64Array(BIN_COUNT),
    resistanceCents: new Float64Array(BIN_COUNT),
  };
}

/**
 * Appends a snapshot's cells summed by slot, slots ascending, then bins: group=venue, type, all. A
 * snapshot's total is below 2^53 cents (MAX_SNAPSHOT_CENTS), so sums in doubles are exact.
 */
export function appendGroups(
  cells: ServedCells,
  run: RunColumns,
  ranges: MarketRanges,
  slot: Int32Array,
  scratch: GroupScratch,
): void {
  const { head, next } = scratch;
  for (let r = 0; r < ranges.count; r++) {
    const group = slot[ranges.market[r]];
    if (group < 0) continue;
    next[r] = head[group];
    head[group] = r;
  }
  for (let group = 0; group < head.length; group++) {
    const first = head[group];
    if (first < 0) continue;
    head[group] = -1;
    if (next[first] < 0) appendRange(cells, run, ranges.start[first], ranges.end[first], group);
    else appendSum(cells, run, ranges, first, group, scratch);
  }
}

function appendSum(
  cells: ServedCells,
  run: RunColumns,
  ranges: MarketRanges,
  firstRange: number,
  group: number,
  scratch: GroupScratch,
): void {
  const { seen, supportCents, resistanceCents, next } = scratch;
  let low = BIN_COUNT;
  let high = -1;
  for (let r = firstRange; r >= 0; r = next[r]) {
    const end = ranges.end[r];
    for (let i = ranges.start[r]; i < end; i++) {
      const b = run.bin[i] - MIN_BIN;
      seen[b] = 1;
      supportCents[b] += run.supportCents[i];
      resistanceCents[b] += run.resistanceCents[i];
    }
    // Bins ascend within a range: its ends bound it.
    low = Math.min(low, run.bin[ranges.start[r]] - MIN_BIN);
    high = Math.max(high, run.bin[end - 1] - MIN_BIN);
  }
  let at = cells.length;
  for (let b = low; b <= high; b++) {
    if (seen[b] === 0) continue;
    cells.index[at] = group;
    cells.bin[at] = b + MIN_BIN;
    cells.supportCents[at] = supportCents[b];
    cells.resistanceCents[at++] = resistanceCents[b];
    seen[b] = supportCents[b] = resistanceCents[b] = 0;
  }
  cells.length = at;
}
