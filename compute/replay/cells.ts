/** A snapshot's cells by market: the runs of neighbouring cells that a band keeps. */
import { BIN_COUNT, type BinRange, MIN_BIN } from '../ladder.js';
import { type Market, MARKET_TYPE_LABELS, type MarketType, venueKey } from '../market.js';
import type { RunColumns } from '../segment/run.js';
import { keepsMarket, type ReplayQuery } from './query.js';

/** Scratch for one snapshot's ranges, used again for the next one. */
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

/** Room for the ranges of any snapshot of a token with this many markets. */
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
 * Fills `ranges` with the cells of snapshot `row` that lie in the band, market by market; a market
 * without any there has no range.
 * @throws RangeError where a cell's market is not in the token's list
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
  let i = run.cellOffsets[row];
  while (i < end) {
    const m = market[i];
    while (i < end && market[i] === m && bin[i] < first) i++;
    const start = i;
    let cents = 0;
    while (i < end && market[i] === m && bin[i] <= last) {
      cents += supportCents[i] + resistanceCents[i];
      i++;
    }
    if (i > start) {
      if (count === ranges.market.length || m >= ranges.market.length) {
        throw new RangeError(`cell of market ${m}, but the token has ${ranges.market.length}`);
      }
      ranges.market[count] = m;
      ranges.start[count] = start;
      ranges.end[count] = i;
      ranges.cents[count++] = cents;
    }
    while (i < end && market[i] === m) i++;
  }
  ranges.count = count;
}

// Where each of a token's markets goes on a page: the positions that cells of a page index.

/** One ladder of a page with group=venue or type. */
export interface PageGroup {
  key: string;
  label: string;
  type: MarketType;
}

export interface MarketSlots {
  /** Venue key of each of the token's markets. */
  venueKeys: string[];
  /**
   * By market: its index in the page's list of markets (group=market), the index of its group
   * (venue, type), 0 (all); -1 where the filter drops it.
   */
  slot: Int32Array;
  /** Number of slots in use. */
  count: number;
  /** The groups in order of first arrival among the markets that the filter keeps. */
  groups: PageGroup[];
}

/** Gives each of a token's markets (in order of first arrival) its slot under a query. */
export function slotsOfMarkets(markets: readonly Market[], query: ReplayQuery): MarketSlots {
  const venueKeys = markets.map((market) => venueKey(market.source));
  const labels = venueLabels(markets, venueKeys);
  const slot = new Int32Array(markets.length).fill(-1);
  const groups: PageGroup[] = [];
  const groupOfKey = new Map<string, number>();
  let count = 0;
  markets.forEach((market, m) => {
    const venue = venueKeys[m];
    if (!keepsMarket(query, market.type, venue)) return;
    if (query.group === 'market') slot[m] = count++;
    else if (query.group === 'all') slot[m] = 0;
    else {
      const key = query.group === 'venue' ? venue : market.type;
      let group = groupOfKey.get(key);
      if (group === undefined) {
        group = groups.length;
        groupOfKey.set(key, group);
        const label =
          query.group === 'venue' ? (labels.get(venue) as string) : MARKET_TYPE_LABELS[market.type];
        groups.push({ key, label, type: market.type });
      }
      slot[m] = group;
    }
  });
  if (query.group === 'all') count = 1;
  else if (query.group !== 'market') count = groups.length;
  return { venueKeys, slot, count, groups };
}

/** A venue's label: the source as the first market of that venue gave it. */
export function venueLabels(
  markets: readonly Market[],
  venueKeys: readonly string[],
): Map<string, string> {
  const labels = new Map<string, string>();
  markets.forEach((market, m) => {
    if (!labels.has(venueKeys[m])) labels.set(venueKeys[m], market.source);
  });
  return labels;
}

// Cells as a page serves them: one snapshot's ranges copied market by market, or summed by group.

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
export type ReusableCells = (capacity: number) => ServedCells;

/**
 * Room that every page takes anew: the cells of one page last until the next one is built. A page's
 * columns are megabytes; what is not thrown away need not be collected.
 */
export function reusedCells(): ReusableCells {
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
