/** Least and greatest price of a token by hour, and over hours together. */
import type { Selection } from '../replay/page.js';
import { decodeSegment } from '../segment/segment.js';
import type { SnapshotRun } from '../segment/run.js';
import { HOUR_S, LONGEST_PERIOD_H, hourOf } from './hours.js';

/** Hour buckets that are looked at: the current one and the longest period that ends before it. */
export const HOURS_IN_SIGHT = LONGEST_PERIOD_H + 1;

/** A token's snapshots by hour; index 0 is the bucket that starts at `firstHourS`. */
export interface HourPrices {
  firstHourS: number;
  snapshots: Uint32Array;
  /** Over the hour's snapshots; NaN where it has none. */
  lowUsd: Float64Array;
  highUsd: Float64Array;
}

/** Least and greatest price of some snapshots. */
export interface PriceRange {
  lowUsd: number;
  highUsd: number;
  snapshots: number;
}

export interface PriceHoursInput {
  /** LZ4 blocks that encodeSegment made; the selection's `run` indexes them. */
  blocks: readonly Uint8Array[];
  /** The token's visible snapshots in sight (hoursInSight), as replay would serve them. */
  selection: Selection;
  /** Start of the first hour in sight. */
  firstHourS: number;
}

/**
 * The pool's task for a token without pools: its prices by hour, HOURS_IN_SIGHT of them.
 * @throws Error where a block is damaged or lacks a selected row
 */
export function priceHours(input: PriceHoursInput): HourPrices {
  const prices = emptyHourPrices(input.firstHourS);
  eachSelectedRun(input.blocks, input.selection, (run, rows) => addHourPrices(prices, run, rows));
  return prices;
}

export function emptyHourPrices(firstHourS: number): HourPrices {
  return {
    firstHourS,
    snapshots: new Uint32Array(HOURS_IN_SIGHT),
    lowUsd: new Float64Array(HOURS_IN_SIGHT).fill(NaN),
    highUsd: new Float64Array(HOURS_IN_SIGHT).fill(NaN),
  };
}

/** Counts some of a run's snapshots in; those of hours out of sight are left out. */
export function addHourPrices(prices: HourPrices, run: SnapshotRun, rows: readonly number[]): void {
  const { firstHourS, snapshots, lowUsd, highUsd } = prices;
  for (const row of rows) {
    const hour = hourIndex(firstHourS, run.t[row]);
    if (hour < 0 || hour >= HOURS_IN_SIGHT) continue;
    const price = run.priceUsd[row];
    snapshots[hour]++;
    // Not Math.min: NaN stands for no price yet.
    if (!(lowUsd[hour] <= price)) lowUsd[hour] = price;
    if (!(highUsd[hour] >= price)) highUsd[hour] = price;
  }
}

/** Which bucket, counted from the one that starts at `firstHourS`, contains `timeS`. */
export function hourIndex(firstHourS: number, timeS: number): number {
  return (hourOf(timeS) - firstHourS) / HOUR_S;
}

/**
 * Over the hours `fromHourS <= hour <= lastHourS` together; null where they have no snapshot.
 * Hours out of sight have none.
 */
export function pricesOver(
  prices: HourPrices,
  fromHourS: number,
  lastHourS: number,
): PriceRange | null {
  const first = Math.max(0, hourIndex(prices.firstHourS, fromHourS));
  const last = Math.min(HOURS_IN_SIGHT - 1, hourIndex(prices.firstHourS, lastHourS));
  const range: PriceRange = { lowUsd: Infinity, highUsd: -Infinity, snapshots: 0 };
  for (let hour = first; hour <= last; hour++) {
    if (prices.snapshots[hour] === 0) continue;
    range.snapshots += prices.snapshots[hour];
    range.lowUsd = Math.min(range.lowUsd, prices.lowUsd[hour]);
    range.highUsd = Math.max(range.highUsd, prices.highUsd[hour]);
  }
  return range.snapshots === 0 ? null : range;
}

/**
 * Decodes each block that the selection names once, one at a time, with the rows selected of it.
 * @throws Error where a block is damaged or lacks a selected row
 */
export function eachSelectedRun(
  blocks: readonly Uint8Array[],
  selection: Selection,
  use: (run: SnapshotRun, rows: readonly number[], block: number) => void,
): void {
  const rowsOf = new Map<number, number[]>();
  for (let i = 0; i < selection.run.length; i++) {
    const rows = rowsOf.get(selection.run[i]);
    if (rows === undefined) rowsOf.set(selection.run[i], [selection.row[i]]);
    else rows.push(selection.row[i]);
  }
  for (const [block, rows] of rowsOf) {
    if (block >= blocks.length)
      throw new Error(`selection names block ${block} of ${blocks.length}`);
    const run = decodeSegment(blocks[block]);
    const past = rows.find((row) => row >= run.t.length);
    if (past !== undefined) throw new Error(`block ${block} holds no snapshot ${past}`);
    use(run, rows, block);
  }
}
