/** The table `dlmm_hours`: fees, volume and value of each DLMM pool, by hour. */
import type { PoolHours } from '../../compute/lp/dlmm-board.js';
import {
  CodedTexts,
  NumberColumn,
  readColumns,
  type FlatSource,
  type FlatTable,
} from '../flat-columns.js';

export const DLMM_HOURS = {
  name: 'dlmm_hours',
  columns: {
    pubkey: 'text',
    hour: 'number',
    fees_usd: 'number',
    volume_usd: 'number',
    tvl_usd: 'number',
  },
  keyColumns: 2,
  rising: 'hour',
} as const satisfies FlatTable;

/** Rows of hours `fromHourS <= hour <= toHourS`, in no order. */
export async function dlmmHours(
  source: FlatSource,
  fromHourS: number,
  toHourS: number,
): Promise<PoolHours> {
  const pool = new CodedTexts();
  const hour = NumberColumn.uints();
  const [fees, volume, tvl] = Array.from({ length: 3 }, NumberColumn.doubles);
  await readColumns(
    source,
    `SELECT pubkey, hour, fees_usd, volume_usd, tvl_usd FROM dlmm_hours WHERE hour BETWEEN ? AND ?`,
    [fromHourS, toHourS],
    [pool, hour, fees, volume, tvl],
  );
  return {
    pubkeys: pool.texts,
    pool: pool.codes.values,
    hour: hour.values,
    feesUsd: fees.values,
    volumeUsd: volume.values,
    tvlUsd: tvl.values,
  };
}
