/**
 * A token's price range (docs/definitions.md#price-range): its lowest and highest price by hour and
 * over several hours, and the bins of a snapshot within such a range.
 */
import { BIN_COUNT, BIN_FACTORS, BIN_RATIO, type BinRange, MIN_BIN } from '../ladder.js';
import type { Selection } from '../replay/page.js';
import { firstFrom, firstIndex } from '../search.js';
import type { SnapshotRun } from '../segment/run.js';
import { decodeSegment } from '../segment/segment.js';
import { HOURS_IN_SIGHT, hourIndex } from './hours.js';

/** A token's prices by hour; index 0 is the hour that starts at `firstHourS`. */
export interface HourPrices {
  firstHourS: number;
  /** Number of snapshots in the hour. */
  snapshots: Uint32Array;
  /** Lowest and highest price of the hour; NaN without a snapshot. */
  lowUsd: Float64Array;
  highUsd: Float64Array;
}

export interface PriceRange {
  lowUsd: number;
  highUsd: number;
  snapshots: number;
}

export interface PriceHoursInput {
  /** Segments from encodeSegment; the selection's `run` indexes them. */
  blocks: readonly Uint8Array[];
  /** The token's visible snapshots in sight (hoursInSight), as replay would serve them. */
  selection: Selection;
  /** Start of the first hour in sight. */
  firstHourS: number;
}

/**
 * The prices of a token without pools in the HOURS_IN_SIGHT hours: a task of the pool.
 * @throws Error if a block is damaged or lacks a selected row
 */
export function priceHours(input: PriceHoursInput): HourPrices {
  const prices = emptyHourPrices(input.firstHourS);
  eachSelectedRun(input, (run, rows) => addHourPrices(prices, run, rows));
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

/** Adds some snapshots of a run; those out of sight are skipped. */
export function addHourPrices(prices: HourPrices, run: SnapshotRun, rows: readonly number[]): void {
  const { firstHourS, snapshots, lowUsd, highUsd } = prices;
  for (const row of rows) {
    const hour = hourIndex(firstHourS, run.t[row]);
    if (hour < 0 || hour >= HOURS_IN_SIGHT) continue;
    const price = run.priceUsd[row];
    snapshots[hour]++;
    // NaN means no price so far, which Math.min would keep.
    if (!(lowUsd[hour] <= price)) lowUsd[hour] = price;
    if (!(highUsd[hour] >= price)) highUsd[hour] = price;
  }
}

/**
 * Calls `use` with each selected block, decoded, and its selected rows. Decodes the blocks one at a
 * time, each once.
 * @throws Error if a block is damaged or lacks a selected row
 */
export function eachSelectedRun(
  { blocks, selection }: Pick<PriceHoursInput, 'blocks' | 'selection'>,
  use: (run: SnapshotRun, rows: readonly number[]) => void,
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
    use(run, rows);
  }
}

/** The range over the hours `fromHourS <= hour <= lastHourS` in sight; null without a snapshot. */
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

const HALF_BIN = Math.sqrt(BIN_RATIO);
/** Relative, at both ends, as for bands: rounding must not decide about a bin at the end. */
const TOLERANCE = 1e-9;
const LOW_FACTOR = (1 - TOLERANCE) / HALF_BIN;
const HIGH_FACTOR = (1 + TOLERANCE) * HALF_BIN;

/**
 * Bins of a snapshot at `priceUsd` whose price `priceUsd * 1.01^b` lies in
 * `[lowUsd / 1.01^0.5, highUsd * 1.01^0.5]`, with a relative tolerance of 1e-9 at both ends;
 * `first > last` if no bin of the ladder is in the range. A wider range never has fewer bins.
 */
export function binsOfPrices(priceUsd: number, lowUsd: number, highUsd: number): BinRange {
  const low = (lowUsd / priceUsd) * LOW_FACTOR;
  const high = (highUsd / priceUsd) * HIGH_FACTOR;
  const upTo = firstIndex(0, BIN_COUNT, (i) => !(BIN_FACTORS[i] <= high));
  return { first: MIN_BIN + firstFrom(BIN_FACTORS, low), last: MIN_BIN + upTo - 1 };
}
