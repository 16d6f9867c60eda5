/** One period of the DLMM board: a row for every pool with an hour in it, and the rows' ranks. */
import type { HourTable } from './hour-table.js';
import { LONGEST_PERIOD_H } from './hours.js';
import { rankOf } from './rank.js';

/** What the board is sorted by (api.md 4.11), and the column each goes by. */
export const DLMM_SORT_COLUMNS = {
  rangeyield: 'rangeYield',
  feespertvl: 'feesPerAvgTvl',
  fees: 'fees',
  volume: 'volume',
  tvl: 'tvl',
} as const;
export type DlmmSort = keyof typeof DLMM_SORT_COLUMNS;
export const DLMM_SORTS = Object.keys(DLMM_SORT_COLUMNS) as DlmmSort[];

/** A row is index i of every column; rows ascend by address. NaN stands for null. USD. */
export interface BoardPeriod {
  /** Index into the board's pools. */
  pool: Uint32Array;
  fees: Float64Array;
  volume: Float64Array;
  /** Mean over the hours there are. */
  tvl: Float64Array;
  effectiveFeeBps: Float64Array;
  feesPerAvgTvl: Float64Array;
  captureShare: Float64Array;
  feeCapture: Float64Array;
  rangeTvl: Float64Array;
  rangeYield: Float64Array;
  rangeCeiling: Float64Array;
  /** Row numbers, largest value first, nulls last, ties by address ascending. */
  order: Record<DlmmSort, Uint32Array>;
}

export interface PeriodPools {
  /** Base token by pool. */
  base: Uint32Array;
  baseCount: number;
  /** Pools ascending by address. */
  byAddress: Uint32Array;
}

/**
 * The board of the last `hours` hours.
 * @param index the period's place among the ranges'
 */
export function boardPeriod(
  pools: PeriodPools,
  table: HourTable,
  { hours, index }: { hours: number; index: number },
): BoardPeriod {
  const firstHour = LONGEST_PERIOD_H - hours;
  const pool = pools.byAddress.filter((p) => hasRow(table, firstHour, p));
  const columns = poolColumns(pool, table, firstHour, index);
  const shares = sharesOfBase(pool, pools, columns);
  const rows = { pool, ...columns, ...shares };
  const order = Object.fromEntries(
    DLMM_SORTS.map((sort) => [sort, rankOf(rows[DLMM_SORT_COLUMNS[sort]])]),
  ) as Record<DlmmSort, Uint32Array>;
  return { ...rows, order };
}

function hasRow({ feesUsd, poolCount }: HourTable, firstHour: number, pool: number): boolean {
  for (let hour = firstHour; hour < LONGEST_PERIOD_H; hour++) {
    if (!Number.isNaN(feesUsd[hour * poolCount + pool])) return true;
  }
  return false;
}

type PoolColumns = Omit<BoardPeriod, 'pool' | 'captureShare' | 'feeCapture' | 'order'>;

function poolColumns(
  pool: Uint32Array,
  table: HourTable,
  firstHour: number,
  index: number,
): PoolColumns {
  const column = () => new Float64Array(pool.length);
  const out: PoolColumns = {
    fees: column(),
    volume: column(),
    tvl: column(),
    effectiveFeeBps: column(),
    feesPerAvgTvl: column(),
    rangeTvl: column(),
    rangeYield: column(),
    rangeCeiling: column(),
  };
  pool.forEach((p, row) => {
    const { fees, volume, tvl, ceiling } = sumHours(table, firstHour, p);
    const rangeTvl = table.periodRangeTvlUsd[index * table.poolCount + p];
    out.fees[row] = fees;
    out.volume[row] = volume;
    out.tvl[row] = tvl;
    out.effectiveFeeBps[row] = ratio(10_000 * fees, volume);
    out.feesPerAvgTvl[row] = ratio(fees, tvl);
    out.rangeTvl[row] = rangeTvl;
    out.rangeYield[row] = ratio(fees, rangeTvl);
    out.rangeCeiling[row] = ceiling;
  });
  return out;
}

function sumHours(table: HourTable, firstHour: number, pool: number) {
  const { poolCount, feesUsd, volumeUsd, tvlUsd, rangeTvlUsd } = table;
  let fees = 0;
  let volume = 0;
  let tvl = 0;
  let rows = 0;
  let ceiling = NaN;
  for (let hour = firstHour; hour < LONGEST_PERIOD_H; hour++) {
    const at = hour * poolCount + pool;
    const isRow = !Number.isNaN(feesUsd[at]);
    if (isRow) {
      fees += feesUsd[at];
      volume += volumeUsd[at];
      tvl += tvlUsd[at];
      rows++;
    }
    if (Number.isNaN(rangeTvlUsd[at])) continue;
    // An hour without a row had no fees, but it has a range.
    const earned = isRow ? ratio(feesUsd[at], rangeTvlUsd[at]) : 0;
    ceiling = Number.isNaN(ceiling) ? earned : ceiling + earned;
  }
  return { fees, volume, tvl: tvl / rows, ceiling };
}

/** Each pool's share of what the pools with its base token took in, and against its share of TVL. */
function sharesOfBase(
  pool: Uint32Array,
  { base, baseCount }: PeriodPools,
  { fees, tvl }: Pick<PoolColumns, 'fees' | 'tvl'>,
): Pick<BoardPeriod, 'captureShare' | 'feeCapture'> {
  const feesOf = new Float64Array(baseCount);
  const tvlOf = new Float64Array(baseCount);
  pool.forEach((p, row) => {
    feesOf[base[p]] += fees[row];
    tvlOf[base[p]] += tvl[row];
  });
  const captureShare = new Float64Array(pool.length);
  const feeCapture = new Float64Array(pool.length);
  pool.forEach((p, row) => {
    captureShare[row] = ratio(fees[row], feesOf[base[p]]);
    feeCapture[row] = ratio(captureShare[row], ratio(tvl[row], tvlOf[base[p]]));
  });
  return { captureShare, feeCapture };
}

/** NaN where a part is null or the divisor is 0. */
function ratio(dividend: number, divisor: number): number {
  return divisor === 0 ? NaN : dividend / divisor;
}
