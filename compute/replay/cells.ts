/** The cells of a snapshot within a band, market by market, and how a page adds them: copied or summed. */
import { BIN_COUNT, type BinRange, MIN_BIN } from '../ladder.js';
import type { RunColumns } from '../segment/run.js';
import type { ReplayGroup } from './query.js';

/** The adjacent cells of each market of one snapshot within a band; reused for the next snapshot. */
export interface MarketRanges {
  count: number;
  /** Index of the range's market, strictly ascending. */
  market: Int32Array;
  /** Cells `start <= i < end` of the run's columns. */
  start: Int32Array;
  end: Int32Array;
  /** Support + resistance of the range in cents. */
  cents: Float64Array;
}

/** Arrays large enough for any snapshot of a token with this many markets. */
export function emptyRanges(marketCount: number): MarketRanges {
  return {
    count: 0,
    market: new Int32Array(marketCount),
    start: new Int32Array(marketCount),
    end: new Int32Array(marketCount),
    cents: new Float64Array(marketCount),
  };
}

/**
 * Fills `ranges` with the cells of snapshot `row` in the band. Markets without such cells have no range.
 * @throws RangeError if a cell's market is not in the token's list
 */
export function findRanges(
  run: RunColumns,
  row: number,
  band: BinRange,
  ranges: MarketRanges,
): void {
  const { market, bin, supportCents, resistanceCents } = run;
  const { first, last } = band;
  const end = run.cellOffsets[row + 1];
  let count = 0;
  for (let next = run.cellOffsets[row]; next < end;) {
    const m = market[next];
    let start = next;
    while (next < end && market[next] === m) next++;
    // Bins ascend.
    let stop = next;
    while (start < stop && bin[start] < first) start++;
    while (start < stop && bin[stop - 1] > last) stop--;
    if (start === stop) continue;
    if (count === ranges.market.length || m >= ranges.market.length) {
      throw new RangeError(`cell of market ${m}, but the token has ${ranges.market.length}`);
    }
    let cents = 0;
    for (let i = start; i < stop; i++) cents += supportCents[i] + resistanceCents[i];
    ranges.market[count] = m;
    ranges.start[count] = start;
    ranges.end[count] = stop;
    ranges.cents[count++] = cents;
  }
  ranges.count = count;
}

/** A page's cells as columns; the first `length` entries are filled. */
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

/**
 * Like emptyCells(), with reused memory: one page's cells are valid until the next page is built. They take
 * megabytes, which would otherwise be garbage after each page.
 */
export function reusedCells(): typeof emptyCells {
  let kept = emptyCells(0);
  return (capacity) => {
    if (kept.bin.length < capacity) kept = emptyCells(capacity);
    kept.length = 0;
    return kept;
  };
}

/** Appends a snapshot's ranges to a page's cells. */
type AppendCells = (cells: ServedCells, run: RunColumns, ranges: MarketRanges) => void;

/**
 * How a grouping appends cells: unchanged with group=market, otherwise summed by slot.
 *
 * @param slot by market: the index for its cells, -1 if they are dropped
 * @param slotCount slots in use
 */
export function cellAppender(group: ReplayGroup, slot: Int32Array, slotCount: number): AppendCells {
  if (group === 'market') return (cells, run, ranges) => appendMarkets(cells, run, ranges, slot);
  const scratch = groupScratch(slotCount, slot.length);
  return (cells, run, ranges) => appendGroups(cells, run, ranges, slot, scratch);
}

function appendMarkets(
  cells: ServedCells,
  run: RunColumns,
  ranges: MarketRanges,
  slot: Int32Array,
): void {
  // Adjacent cells that are not copied yet.
  let start = 0;
  let end = 0;
  let at = cells.length;
  for (let r = 0; r < ranges.count; r++) {
    const index = slot[ranges.market[r]];
    if (index < 0) continue;
    if (ranges.start[r] !== end) {
      copyRange(cells, run, start, end);
      start = ranges.start[r];
    }
    end = ranges.end[r];
    for (const next = at + end - ranges.start[r]; at < next; at++) cells.index[at] = index;
  }
  copyRange(cells, run, start, end);
}

/** Appends cells of a run without their indexes. */
function copyRange(cells: ServedCells, run: RunColumns, start: number, end: number): void {
  if (start === end) return;
  const at = cells.length;
  cells.bin.set(run.bin.subarray(start, end), at);
  cells.supportCents.set(run.supportCents.subarray(start, end), at);
  cells.resistanceCents.set(run.resistanceCents.subarray(start, end), at);
  cells.length = at + end - start;
}

/** Appends adjacent cells of one slot. */
function appendRange(
  cells: ServedCells,
  run: RunColumns,
  start: number,
  end: number,
  slot: number,
): void {
  cells.index.fill(slot, cells.length, cells.length + end - start);
  copyRange(cells, run, start, end);
}

/** Working memory for sums: one ladder, and each group's ranges as a linked list. */
interface GroupScratch {
  /** First range of each group, -1 if it has none in the snapshot. */
  head: Int32Array;
  /** Next range of the same group, -1 at the last. */
  next: Int32Array;
  /** The current group's ladder, by bin - MIN_BIN; all zero between groups. */
  seen: Uint8Array;
  supportCents: Float64Array;
  resistanceCents: Float64Array;
}

function groupScratch(groupCount: number, marketCount: number): GroupScratch {
  return {
    head: new Int32Array(groupCount).fill(-1),
    next: new Int32Array(marketCount),
    seen: new Uint8Array(BIN_COUNT),
    supportCents: new Float64Array(BIN_COUNT),
    resistanceCents: new Float64Array(BIN_COUNT),
  };
}

/**
 * Appends a snapshot's cells summed by slot, sorted by slot, then bin. Sums in doubles are exact: a
 * snapshot's total is below 2^53 cents (MAX_SNAPSHOT_CENTS).
 */
function appendGroups(
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
  const { bin: runBin, supportCents: runSupport, resistanceCents: runResistance } = run;
  let low = BIN_COUNT;
  let high = -1;
  for (let r = firstRange; r >= 0; r = next[r]) {
    const start = ranges.start[r];
    const end = ranges.end[r];
    for (let i = start; i < end; i++) {
      const b = runBin[i] - MIN_BIN;
      seen[b] = 1;
      supportCents[b] += runSupport[i];
      resistanceCents[b] += runResistance[i];
    }
    // Bins ascend within a range.
    low = Math.min(low, runBin[start] - MIN_BIN);
    high = Math.max(high, runBin[end - 1] - MIN_BIN);
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
