/**
 * The board of DLMM pools (docs/definitions.md#dlmm-pools): one row per period for every pool with an
 * hour in it, and the order of the rows for every sort; also the leaders (docs/definitions.md#chips).
 */
import { type Joined, splitTexts } from '../joined-texts.js';
import { recordOf } from '../collections.js';
import type { BoardPools } from './dlmm-pool.js';
import {
  DLMM_PERIODS,
  type DlmmPeriod,
  firstHourOf,
  hourIndex,
  LONGEST_PERIOD_H,
  PERIODS_H,
} from './hours.js';
import type { NamedRangeTvl, RangeTvl } from './pool-range.js';

/** The board's sorts, and the column of each. */
export const DLMM_SORT_COLUMNS = {
  rangeyield: 'rangeYield',
  feespertvl: 'feesPerAvgTvl',
  fees: 'fees',
  volume: 'volume',
  tvl: 'tvl',
} as const;
export type DlmmSort = keyof typeof DLMM_SORT_COLUMNS;
export const DLMM_SORTS = Object.keys(DLMM_SORT_COLUMNS) as DlmmSort[];

/** Hours of pools as columns: row i is index i of each. At most one row per pool and hour. */
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

export interface DlmmBoardInput {
  pools: BoardPools;
  /** In any order; hours outside the longest period and pools not in `pools` are ignored. */
  hours: PoolHours;
  /** Ranges of the pools with a market, computed for `thisHourS`. */
  ranges: NamedRangeTvl;
  thisHourS: number;
}

export interface DlmmBoard {
  thisHourS: number;
  /** Number of pools by base token, in the order of `pools.baseMints`, including pools without hours. */
  poolsOfBase: Uint32Array;
  periods: Record<DlmmPeriod, BoardPeriod>;
}

/** Row i is index i of every column; rows ascend by address. NaN stands for null. USD. */
export interface BoardPeriod {
  /** Index into the board's list of pools. */
  pool: Uint32Array;
  fees: Float64Array;
  volume: Float64Array;
  /** Mean over the hours with a row. */
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

/** The input as it is sent to a thread. */
interface DlmmBoardTask {
  pools: Joined<BoardPools>;
  hours: Joined<PoolHours>;
  ranges: Joined<NamedRangeTvl>;
  thisHourS: number;
}

/** The board of every period: a task of the pool. */
export function dlmmBoardTask({ pools, hours, ranges, thisHourS }: DlmmBoardTask): DlmmBoard {
  const { pubkeys, baseMints } = pools;
  return dlmmBoard({
    pools: { ...pools, pubkeys: splitTexts(pubkeys), baseMints: splitTexts(baseMints) },
    hours: { ...hours, pubkeys: splitTexts(hours.pubkeys) },
    ranges: { ...ranges, pubkeys: splitTexts(ranges.pubkeys) },
    thisHourS,
  });
}

/** The board of every period. */
export function dlmmBoard(input: DlmmBoardInput): DlmmBoard {
  const { pools, thisHourS } = input;
  const poolsOfBase = new Uint32Array(pools.baseMints.length);
  for (const base of pools.base) poolsOfBase[base]++;
  const table = hourTable(input);
  const byAddress = inOrderOfAddress(pools.pubkeys);
  return {
    thisHourS,
    poolsOfBase,
    periods: recordOf(DLMM_PERIODS, (period) => boardPeriod(pools, byAddress, table, period)),
  };
}

/** Columns with index `pool * LONGEST_PERIOD_H + hour`, oldest hour first; NaN: no row. */
interface HourTable {
  feesUsd: Float64Array;
  volumeUsd: Float64Array;
  tvlUsd: Float64Array;
  rangeTvl: RangeTvl;
}

function hourTable({ pools, hours, ranges, thisHourS }: DlmmBoardInput): HourTable {
  const column = (ofPool: number) => new Float64Array(pools.pubkeys.length * ofPool).fill(NaN);
  const table: HourTable = {
    feesUsd: column(LONGEST_PERIOD_H),
    volumeUsd: column(LONGEST_PERIOD_H),
    tvlUsd: column(LONGEST_PERIOD_H),
    rangeTvl: { ofPeriod: column(DLMM_PERIODS.length), ofHour: column(LONGEST_PERIOD_H) },
  };
  const indexOf = new Map(pools.pubkeys.map((pubkey, pool) => [pubkey, pool]));
  const poolOf = hours.pubkeys.map((pubkey) => indexOf.get(pubkey));
  const firstHourS = firstHourOf(thisHourS, LONGEST_PERIOD_H);
  for (let i = 0; i < hours.hour.length; i++) {
    const pool = poolOf[hours.pool[i]];
    const hour = hourIndex(firstHourS, hours.hour[i]);
    if (pool === undefined || hour < 0 || hour >= LONGEST_PERIOD_H) continue;
    const at = pool * LONGEST_PERIOD_H + hour;
    table.feesUsd[at] = hours.feesUsd[i];
    table.volumeUsd[at] = hours.volumeUsd[i];
    table.tvlUsd[at] = hours.tvlUsd[i];
  }
  ranges.pubkeys.forEach((pubkey, i) => {
    const pool = indexOf.get(pubkey);
    if (pool === undefined) return;
    copyRow(ranges.ofPeriod, i, table.rangeTvl.ofPeriod, pool, DLMM_PERIODS.length);
    copyRow(ranges.ofHour, i, table.rangeTvl.ofHour, pool, LONGEST_PERIOD_H);
  });
  return table;
}

function copyRow(
  from: Float64Array,
  row: number,
  into: Float64Array,
  intoRow: number,
  width: number,
): void {
  for (let i = 0; i < width; i++) into[intoRow * width + i] = from[row * width + i];
}

function boardPeriod(
  { base, baseMints }: BoardPools,
  byAddress: Uint32Array,
  table: HourTable,
  period: DlmmPeriod,
): BoardPeriod {
  const firstHour = LONGEST_PERIOD_H - PERIODS_H[period];
  const pool = byAddress.filter((p) => hasRow(table, firstHour, p));
  const columns = poolColumns(pool, table, firstHour, DLMM_PERIODS.indexOf(period));
  const baseOfRow = pool.map((p) => base[p]);
  const rows = { pool, ...columns, ...sharesOfBase(baseOfRow, baseMints.length, columns) };
  return { ...rows, order: recordOf(DLMM_SORTS, (sort) => rankOf(rows[DLMM_SORT_COLUMNS[sort]])) };
}

function hasRow({ feesUsd }: HourTable, firstHour: number, pool: number): boolean {
  for (let hour = firstHour; hour < LONGEST_PERIOD_H; hour++) {
    if (!Number.isNaN(feesUsd[pool * LONGEST_PERIOD_H + hour])) return true;
  }
  return false;
}

type PoolColumns = Omit<BoardPeriod, 'pool' | 'captureShare' | 'feeCapture' | 'order'>;

function poolColumns(
  pool: Uint32Array,
  table: HourTable,
  firstHour: number,
  period: number,
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
    const rangeTvl = table.rangeTvl.ofPeriod[p * DLMM_PERIODS.length + period];
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
  const { feesUsd, volumeUsd, tvlUsd } = table;
  let fees = 0;
  let volume = 0;
  let tvl = 0;
  let rows = 0;
  let ceiling = NaN;
  for (let hour = firstHour; hour < LONGEST_PERIOD_H; hour++) {
    const at = pool * LONGEST_PERIOD_H + hour;
    const hasFees = !Number.isNaN(feesUsd[at]);
    if (hasFees) {
      fees += feesUsd[at];
      volume += volumeUsd[at];
      tvl += tvlUsd[at];
      rows++;
    }
    const rangeTvl = table.rangeTvl.ofHour[at];
    if (Number.isNaN(rangeTvl)) continue;
    // An hour without a row can have a range, but no fees.
    const earned = hasFees ? ratio(feesUsd[at], rangeTvl) : 0;
    ceiling = Number.isNaN(ceiling) ? earned : ceiling + earned;
  }
  return { fees, volume, tvl: tvl / rows, ceiling };
}

/** Each row's share of the fees of its base token's pools, and the ratio of that to its share of their TVL. */
function sharesOfBase(
  baseOfRow: Uint32Array,
  baseCount: number,
  { fees, tvl }: Pick<PoolColumns, 'fees' | 'tvl'>,
): Pick<BoardPeriod, 'captureShare' | 'feeCapture'> {
  const feesOf = new Float64Array(baseCount);
  const tvlOf = new Float64Array(baseCount);
  baseOfRow.forEach((base, row) => {
    feesOf[base] += fees[row];
    tvlOf[base] += tvl[row];
  });
  const captureShare = new Float64Array(baseOfRow.length);
  const feeCapture = new Float64Array(baseOfRow.length);
  baseOfRow.forEach((base, row) => {
    captureShare[row] = ratio(fees[row], feesOf[base]);
    feeCapture[row] = ratio(captureShare[row], ratio(tvl[row], tvlOf[base]));
  });
  return { captureShare, feeCapture };
}

/** NaN if either is NaN or the divisor is 0. */
function ratio(dividend: number, divisor: number): number {
  return divisor === 0 ? NaN : dividend / divisor;
}

export const CHIP_KEYS = ['feesPerAvgTvl', 'rangeYield', 'fees'] as const;
export type ChipKey = (typeof CHIP_KEYS)[number];

/**
 * The leader by each key among `rows` of this hour's board: the row with the greatest value above 0,
 * ties to the first address. Keys without a leader are left out.
 */
export function chipLeaders(
  hour: Pick<BoardPeriod, ChipKey>,
  rows: Iterable<number>,
): Partial<Record<ChipKey, number>> {
  const ascending = [...rows].sort((a, b) => a - b);
  const leaders: Partial<Record<ChipKey, number>> = {};
  for (const key of CHIP_KEYS) {
    let greatest = 0;
    for (const row of ascending) {
      if (!(hour[key][row] > greatest)) continue;
      greatest = hour[key][row];
      leaders[key] = row;
    }
  }
  return leaders;
}

/** Row numbers, largest value first, NaN last, ties in the order of the rows. */
export function rankOf(values: Float64Array): Uint32Array {
  const order = Uint32Array.from(values, (_, row) => row);
  return order.sort((a, b) => descending(values[a], values[b]) || a - b);
}

function descending(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  // b - a would be NaN for two infinities.
  return a === b ? 0 : a > b ? -1 : 1;
}

/** Indexes of addresses in ascending order of the addresses. */
export function inOrderOfAddress(addresses: readonly string[]): Uint32Array {
  const order = Uint32Array.from(addresses, (_, i) => i);
  return order.sort((a, b) =>
    addresses[a] < addresses[b] ? -1 : addresses[a] > addresses[b] ? 1 : 0,
  );
}
