/** The hours of all pools as one table, an hour a line. */
import type { BoardRanges } from './board-ranges.js';
import { DLMM_PERIODS, LONGEST_PERIOD_H, firstHourOf } from './hours.js';
import type { BoardPools } from './pool-sides.js';
import { hourIndex } from './price-range.js';

/** Hours of pools as columns; row i is index i of each, at most one a pool and hour. */
export interface PoolHours {
  pubkeys: readonly string[];
  /** Index into `pubkeys`. */
  pool: Uint32Array;
  /** Start of the hour, epoch seconds. */
  hour: Uint32Array;
  feesUsd: Float64Array;
  volumeUsd: Float64Array;
  tvlUsd: Float64Array;
}

export interface HourTableInput {
  pools: Pick<BoardPools, 'pubkeys'>;
  hours: PoolHours;
  ranges: BoardRanges;
  thisHourS: number;
}

/** Index `hour * poolCount + pool`, the longest period's hours oldest first; NaN where none. */
export interface HourTable {
  poolCount: number;
  feesUsd: Float64Array;
  volumeUsd: Float64Array;
  tvlUsd: Float64Array;
  rangeTvlUsd: Float64Array;
  /** Index `period * poolCount + pool`. */
  periodRangeTvlUsd: Float64Array;
}

/** Pools' hours and ranges by hour and pool; rows of other hours and other pools are left out. */
export function hourTable({ pools, hours, ranges, thisHourS }: HourTableInput): HourTable {
  const poolCount = pools.pubkeys.length;
  const cells = LONGEST_PERIOD_H * poolCount;
  const empty = (length = cells) => new Float64Array(length).fill(NaN);
  const table: HourTable = {
    poolCount,
    feesUsd: empty(),
    volumeUsd: empty(),
    tvlUsd: empty(),
    rangeTvlUsd: empty(),
    periodRangeTvlUsd: empty(DLMM_PERIODS.length * poolCount),
  };
  const indexOf = new Map(pools.pubkeys.map((pubkey, pool) => [pubkey, pool]));
  const poolOf = hours.pubkeys.map((pubkey) => indexOf.get(pubkey) ?? -1);
  const firstHourS = firstHourOf(thisHourS, LONGEST_PERIOD_H);
  for (let i = 0; i < hours.hour.length; i++) {
    const pool = poolOf[hours.pool[i]];
    const hour = hourIndex(firstHourS, hours.hour[i]);
    if (pool < 0 || hour < 0 || hour >= LONGEST_PERIOD_H) continue;
    const at = hour * poolCount + pool;
    table.feesUsd[at] = hours.feesUsd[i];
    table.volumeUsd[at] = hours.volumeUsd[i];
    table.tvlUsd[at] = hours.tvlUsd[i];
  }
  const rangeOf = ranges.pubkeys.map((pubkey) => indexOf.get(pubkey) ?? -1);
  spread(ranges.hourRangeTvlUsd, rangeOf, table.rangeTvlUsd, poolCount);
  spread(ranges.rangeTvlUsd, rangeOf, table.periodRangeTvlUsd, poolCount);
  return table;
}

/** Copies a table's columns to where `columnOf` says; columns at -1 are left out. */
function spread(
  from: Float64Array,
  columnOf: readonly number[],
  into: Float64Array,
  intoWidth: number,
): void {
  const width = columnOf.length;
  for (let i = 0; i < from.length; i++) {
    const column = columnOf[i % width];
    if (column >= 0) into[Math.floor(i / width) * intoWidth + column] = from[i];
  }
}
