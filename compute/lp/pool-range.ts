/**
 * `rangeTvl` (docs/definitions.md#price-range): the depth of a base token's pools in its price range,
 * over each period of the DLMM board and over each hour.
 */
import { BIN_COUNT, MIN_BIN } from '../ladder.js';
import type { Market } from '../market.js';
import type { SnapshotRun } from '../segment/run.js';
import { HOUR_S } from '../time.js';
import { DLMM_PERIODS, LONGEST_PERIOD_H, PERIODS_H, firstHourOf, hourIndex } from './hours.js';
import {
  addHourPrices,
  binsOfPrices,
  eachSelectedRun,
  emptyHourPrices,
  pricesOver,
  type HourPrices,
  type PriceHoursInput,
  type PriceRange,
} from './price-range.js';

/** A base token's snapshots in sight, and which of its markets are pools. */
interface PoolRangesInput extends PriceHoursInput {
  /** By market: index of its pool, or -1 (poolsOfMarkets). */
  poolOfMarket: Int32Array;
  poolCount: number;
  /** Start of this hour; the hour and the 23 before it must be in sight. */
  thisHourS: number;
}

/** Mean depth of pools in the price range, USD; NaN stands for null. */
export interface RangeTvl {
  /** Index `pool * DLMM_PERIODS.length + period`. */
  ofPeriod: Float64Array;
  /** Each hour within its own range: index `pool * LONGEST_PERIOD_H + hour`, oldest hour first. */
  ofHour: Float64Array;
}

/** The ranges of one base token's pools. */
export interface PoolRanges extends RangeTvl {
  thisHourS: number;
  /** All hours in sight, including the hour after this one. */
  prices: HourPrices;
}

/** RangeTvl of pools by their address. */
export interface NamedRangeTvl extends RangeTvl {
  pubkeys: string[];
}

/** The result of poolRanges for one base token: pool i is `pubkeys[i]`. */
export interface BaseTokenRanges {
  pubkeys: readonly string[];
  ranges: Omit<PoolRanges, 'prices'>;
}

/** Joins the ranges of several tokens. @throws Error if one was computed for another hour */
export function joinRanges(tokens: readonly BaseTokenRanges[], thisHourS: number): NamedRangeTvl {
  const pubkeys = tokens.flatMap((token) => token.pubkeys);
  const ofPeriod = new Float64Array(DLMM_PERIODS.length * pubkeys.length);
  const ofHour = new Float64Array(LONGEST_PERIOD_H * pubkeys.length);
  let pool = 0;
  for (const { pubkeys: ofToken, ranges } of tokens) {
    if (ranges.thisHourS !== thisHourS) {
      throw new Error(`ranges of hour ${ranges.thisHourS}, board of hour ${thisHourS}`);
    }
    ofPeriod.set(ranges.ofPeriod, pool * DLMM_PERIODS.length);
    ofHour.set(ranges.ofHour, pool * LONGEST_PERIOD_H);
    pool += ofToken.length;
  }
  return { pubkeys, ofPeriod, ofHour };
}

/**
 * By market: index of the pool with the market's address, or -1. Two markets with the same address (of
 * two sources) both belong to the pool.
 */
export function poolsOfMarkets(markets: readonly Market[], pubkeys: readonly string[]): Int32Array {
  const poolOf = new Map(pubkeys.map((pubkey, pool) => [pubkey, pool]));
  return Int32Array.from(markets, ({ address }) =>
    address === null ? -1 : (poolOf.get(address) ?? -1),
  );
}

/** Blocks of up to this many compressed bytes stay decoded between the two passes. */
const MAX_HELD_BLOCK_BYTES = 32 * 1024 * 1024;

/**
 * The mean depth of each pool's market over the snapshots of each period, in the bins of the period's price
 * range; and the same for each hour. A task of the pool.
 * @param maxHeldBytes blocks of up to this size stay decoded between the two passes; larger blocks are
 *   decoded twice, one at a time
 * @throws Error if a block is damaged or lacks a selected row, or if this hour is out of sight
 */
export function poolRanges(
  input: PoolRangesInput,
  maxHeldBytes = MAX_HELD_BLOCK_BYTES,
): PoolRanges {
  const { blocks, firstHourS, poolCount, thisHourS } = input;
  const holds = blocks.reduce((sum, block) => sum + block.byteLength, 0) <= maxHeldBytes;
  const held: { run: SnapshotRun; rows: readonly number[] }[] = [];
  const prices = emptyHourPrices(firstHourS);
  eachSelectedRun(input, (run, rows) => {
    addHourPrices(prices, run, rows);
    if (holds) held.push({ run, rows });
  });
  const firstHour = hourIndex(firstHourS, firstHourOf(thisHourS, LONGEST_PERIOD_H));
  if (firstHour < 0 || firstHour + LONGEST_PERIOD_H > prices.snapshots.length) {
    throw new Error(`this hour ${thisHourS} is not in sight from ${firstHourS}`);
  }
  const sums = new DepthSums(input, prices);
  const add = (run: SnapshotRun, rows: readonly number[]) =>
    rows.forEach((row) => sums.add(run, row));
  if (holds) held.forEach(({ run, rows }) => add(run, rows));
  else if (poolCount > 0) eachSelectedRun(input, add);
  return { thisHourS, prices, ...sums.means() };
}

/** A snapshot's windows: its own hour, then every period longer than an hour. */
const WINDOWS = DLMM_PERIODS.length;
const OUTSIDE = 255;

/**
 * A snapshot's windows are nested, and so are their ranges of bins. Each cell is added once, to the
 * narrowest window with its bin; a window's depth is its own sum plus those of all narrower windows.
 */
class DepthSums {
  /** Index `(pool * LONGEST_PERIOD_H + hour) * WINDOWS + window`. */
  private readonly cents: Float64Array;
  private readonly firstHourS: number;
  /** Price range of each hour; null without a snapshot. */
  private readonly ofHour: (PriceRange | null)[];
  /** Price range of each period, in the order of DLMM_PERIODS. */
  private readonly ofPeriod: (PriceRange | null)[];
  /** By bin, from MIN_BIN on: the narrowest window of the current snapshot that contains the bin. */
  private readonly windowOfBin = new Uint8Array(BIN_COUNT);

  constructor(
    private readonly input: PoolRangesInput,
    prices: HourPrices,
  ) {
    const { poolCount, thisHourS } = input;
    this.cents = new Float64Array(poolCount * LONGEST_PERIOD_H * WINDOWS);
    this.firstHourS = firstHourOf(thisHourS, LONGEST_PERIOD_H);
    this.ofHour = Array.from({ length: LONGEST_PERIOD_H }, (_, hour) => {
      const hourS = this.firstHourS + hour * HOUR_S;
      return pricesOver(prices, hourS, hourS);
    });
    this.ofPeriod = DLMM_PERIODS.map((period) =>
      pricesOver(prices, firstHourOf(thisHourS, PERIODS_H[period]), thisHourS),
    );
  }

  add(run: SnapshotRun, row: number): void {
    const hour = hourIndex(this.firstHourS, run.t[row]);
    if (hour < 0 || hour >= LONGEST_PERIOD_H) return;
    this.markBins(run.priceUsd[row], hour);
    const { cents, windowOfBin } = this;
    const { poolOfMarket } = this.input;
    const { market, bin, supportCents, resistanceCents, cellOffsets } = run;
    for (let i = cellOffsets[row]; i < cellOffsets[row + 1]; i++) {
      const pool = poolOfMarket[market[i]];
      if (!(pool >= 0)) continue;
      const window = windowOfBin[bin[i] - MIN_BIN];
      if (window === OUTSIDE) continue;
      const at = (pool * LONGEST_PERIOD_H + hour) * WINDOWS + window;
      cents[at] += supportCents[i] + resistanceCents[i];
    }
  }

  /**
   * Marks the widest window first: narrower ones overwrite it. Periods that begin after this hour need no
   * special case: their ranges are within those of the wider periods.
   */
  private markBins(priceUsd: number, hour: number): void {
    this.windowOfBin.fill(OUTSIDE);
    for (let window = WINDOWS - 1; window >= 0; window--) {
      const range = window === 0 ? this.ofHour[hour] : this.ofPeriod[window];
      if (range === null) continue;
      const { first, last } = binsOfPrices(priceUsd, range.lowUsd, range.highUsd);
      this.windowOfBin.fill(window, first - MIN_BIN, Math.max(first, last + 1) - MIN_BIN);
    }
  }

  means(): RangeTvl {
    const { poolCount } = this.input;
    const ofPeriod = new Float64Array(poolCount * DLMM_PERIODS.length);
    const ofHour = new Float64Array(poolCount * LONGEST_PERIOD_H);
    for (let pool = 0; pool < poolCount; pool++) {
      this.ofHour.forEach((range, hour) => {
        ofHour[pool * LONGEST_PERIOD_H + hour] = meanUsd(this.centsOf(pool, hour, hour, 0), range);
      });
      this.ofPeriod.forEach((range, period) => {
        const from = LONGEST_PERIOD_H - PERIODS_H[DLMM_PERIODS[period]];
        const cents = this.centsOf(pool, from, LONGEST_PERIOD_H - 1, period);
        ofPeriod[pool * DLMM_PERIODS.length + period] = meanUsd(cents, range);
      });
    }
    return { ofPeriod, ofHour };
  }

  /** Cents of the hours `from..last` in a window, including narrower windows. */
  private centsOf(pool: number, from: number, last: number, widest: number): number {
    let sum = 0;
    for (let hour = from; hour <= last; hour++) {
      const at = (pool * LONGEST_PERIOD_H + hour) * WINDOWS;
      for (let window = 0; window <= widest; window++) sum += this.cents[at + window];
    }
    return sum;
  }
}

/** NaN if the range has no snapshot, or the pool's market no depth in it. */
function meanUsd(cents: number, range: PriceRange | null): number {
  return cents === 0 || range === null ? NaN : cents / range.snapshots / 100;
}
