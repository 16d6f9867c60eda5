/** `rangeTvl` (data.md section 4, DLMM): the depth of pools in the range that the price travelled. */
import { MIN_BIN, BIN_COUNT } from '../ladder/ladder.js';
import type { Market } from '../market.js';
import type { SnapshotRun } from '../segment/run.js';
import { DLMM_PERIODS, HOUR_S, LONGEST_PERIOD_H, PERIODS_H, firstHourOf } from './hours.js';
import { binsOfPrices } from './price-bins.js';
import {
  addHourPrices,
  eachSelectedRun,
  emptyHourPrices,
  hourIndex,
  pricesOver,
  type HourPrices,
  type PriceHoursInput,
  type PriceRange,
} from './price-range.js';

/** One base token's snapshots in sight, and which of its markets are pools. */
export interface PoolRangesInput extends PriceHoursInput {
  /** By market index: the pool that the market is, or -1 (poolsOfMarkets). */
  poolOfMarket: Int32Array;
  poolCount: number;
  /** Start of this hour; it and the 23 before must be in sight. */
  thisHourS: number;
}

/** The liquidity of a base token's pools within its price's range; NaN stands for null. */
export interface PoolRanges {
  thisHourS: number;
  poolCount: number;
  /** Index `period * poolCount + pool`, periods in the order of DLMM_PERIODS. */
  rangeTvlUsd: Float64Array;
  /** Each hour by its own range: index `hour * poolCount + pool`, of 24 hours, oldest first. */
  hourRangeTvlUsd: Float64Array;
  /** Of all hours in sight, with the bucket after this hour too. */
  prices: HourPrices;
}

/**
 * By market index, which of the pools the market is: the one with its address; -1 where none.
 * Two markets with one address (of two sources) both count to the pool.
 */
export function poolsOfMarkets(markets: readonly Market[], pubkeys: readonly string[]): Int32Array {
  const poolOf = new Map(pubkeys.map((pubkey, pool) => [pubkey, pool]));
  return Int32Array.from(markets, ({ address }) =>
    address === null ? -1 : (poolOf.get(address) ?? -1),
  );
}

/** Compressed bytes of blocks up to which they stay decoded between the two passes. */
const MAX_HELD_BLOCK_BYTES = 32 * 1024 * 1024;

/** Windows that a snapshot is summed for: its own hour, then every period longer than an hour. */
const LEVELS = DLMM_PERIODS.length;
const NO_LEVEL = 255;

/**
 * The pool's task: mean depth over each period's snapshots of each pool's market in the bins that
 * the period's prices travelled, and the same of each hour by itself. The windows that contain a
 * snapshot lie within one another, and so do their ranges of bins: each cell is added once, to the
 * narrowest window that holds its bin, and a window's sum is its own and those of all narrower ones.
 * @param maxHeldBytes of blocks that stay decoded in between; more are decoded twice, one by one
 * @throws Error where a block is damaged or lacks a selected row, or this hour is out of sight
 */
export function poolRanges(
  input: PoolRangesInput,
  maxHeldBytes = MAX_HELD_BLOCK_BYTES,
): PoolRanges {
  const { poolCount, thisHourS } = input;
  const { prices, eachRun } = firstPass(input, maxHeldBytes);
  const firstHour = hourIndex(prices.firstHourS, firstHourOf(thisHourS, LONGEST_PERIOD_H));
  if (firstHour < 0 || firstHour + LONGEST_PERIOD_H > prices.snapshots.length) {
    throw new Error(`this hour ${thisHourS} is not in sight from ${prices.firstHourS}`);
  }
  const sums = new DepthSums(input, prices);
  if (poolCount > 0) eachRun((run, rows) => rows.forEach((row) => sums.add(run, row)));
  return { thisHourS, poolCount, prices, ...sums.means() };
}

type EachRun = (use: (run: SnapshotRun, rows: readonly number[]) => void) => void;

/** The prices; and the runs once more, decoded again where holding them would cost too much. */
function firstPass(
  input: PoolRangesInput,
  maxHeldBytes: number,
): { prices: HourPrices; eachRun: EachRun } {
  const { blocks, selection, firstHourS } = input;
  const prices = emptyHourPrices(firstHourS);
  const bytes = blocks.reduce((sum, block) => sum + block.byteLength, 0);
  const holds = bytes <= maxHeldBytes;
  const held: { run: SnapshotRun; rows: readonly number[] }[] = [];
  eachSelectedRun(blocks, selection, (run, rows) => {
    addHourPrices(prices, run, rows);
    if (holds) held.push({ run, rows });
  });
  const eachRun: EachRun = holds
    ? (use) => held.forEach(({ run, rows }) => use(run, rows))
    : (use) => eachSelectedRun(blocks, selection, use);
  return { prices, eachRun };
}

/** Cents by hour of the longest period, window and pool. */
class DepthSums {
  private readonly cents: Float64Array;
  private readonly firstHourS: number;
  /** Of each hour of the longest period by itself; null where it has no snapshot. */
  private readonly ofHour: (PriceRange | null)[];
  /** Of each period, in the order of DLMM_PERIODS. */
  private readonly ofPeriod: (PriceRange | null)[];
  /** By bin, counted from MIN_BIN: the narrowest window of the snapshot at hand. */
  private readonly levelOfBin = new Uint8Array(BIN_COUNT);

  constructor(
    private readonly input: PoolRangesInput,
    prices: HourPrices,
  ) {
    const { poolCount, thisHourS } = input;
    this.cents = new Float64Array(LONGEST_PERIOD_H * LEVELS * poolCount);
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
    const { poolOfMarket, poolCount } = this.input;
    const hour = hourIndex(this.firstHourS, run.t[row]);
    if (hour < 0 || hour >= LONGEST_PERIOD_H) return;
    this.markBins(run.priceUsd[row], hour);
    const { cents, levelOfBin } = this;
    const { market, bin, supportCents, resistanceCents, cellOffsets } = run;
    for (let i = cellOffsets[row]; i < cellOffsets[row + 1]; i++) {
      const pool = poolOfMarket[market[i]];
      if (!(pool >= 0)) continue;
      const level = levelOfBin[bin[i] - MIN_BIN];
      if (level === NO_LEVEL) continue;
      cents[(hour * LEVELS + level) * poolCount + pool] += supportCents[i] + resistanceCents[i];
    }
  }

  /**
   * Widest window first, so that narrower ones overwrite what they hold. A period that does not
   * reach back to this hour needs no leaving out: its range lies within the wider ones'.
   */
  private markBins(priceUsd: number, hour: number): void {
    this.levelOfBin.fill(NO_LEVEL);
    for (let level = LEVELS - 1; level >= 0; level--) {
      const range = level === 0 ? this.ofHour[hour] : this.ofPeriod[level];
      if (range === null) continue;
      const { first, last } = binsOfPrices(priceUsd, range.lowUsd, range.highUsd);
      this.levelOfBin.fill(level, first - MIN_BIN, Math.max(first, last + 1) - MIN_BIN);
    }
  }

  means(): Pick<PoolRanges, 'rangeTvlUsd' | 'hourRangeTvlUsd'> {
    const { poolCount } = this.input;
    const rangeTvlUsd = new Float64Array(DLMM_PERIODS.length * poolCount);
    const hourRangeTvlUsd = new Float64Array(LONGEST_PERIOD_H * poolCount);
    for (let hour = 0; hour < LONGEST_PERIOD_H; hour++) {
      const snapshots = this.ofHour[hour]?.snapshots ?? 0;
      for (let pool = 0; pool < poolCount; pool++) {
        const cents = this.centsOf(hour, hour, 0, pool);
        hourRangeTvlUsd[hour * poolCount + pool] = meanUsd(cents, snapshots);
      }
    }
    DLMM_PERIODS.forEach((period, level) => {
      const from = LONGEST_PERIOD_H - PERIODS_H[period];
      const snapshots = this.ofPeriod[level]?.snapshots ?? 0;
      for (let pool = 0; pool < poolCount; pool++) {
        const cents = this.centsOf(from, LONGEST_PERIOD_H - 1, level, pool);
        rangeTvlUsd[level * poolCount + pool] = meanUsd(cents, snapshots);
      }
    });
    return { rangeTvlUsd, hourRangeTvlUsd };
  }

  /** Cents of the hours `from..last` in a window: its own and those of narrower ones. */
  private centsOf(from: number, last: number, widest: number, pool: number): number {
    let sum = 0;
    for (let hour = from; hour <= last; hour++) {
      for (let level = 0; level <= widest; level++) {
        sum += this.cents[(hour * LEVELS + level) * this.input.poolCount + pool];
      }
    }
    return sum;
  }
}

/** NaN where there is no snapshot, no such market, or nothing of it in range. */
function meanUsd(cents: number, snapshots: number): number {
  return cents === 0 ? NaN : cents / snapshots / 100;
}
