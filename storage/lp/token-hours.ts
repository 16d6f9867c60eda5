/** The table `token_hours`: organic volume of each token, by hour. */
import type { TokenHours } from '../../compute/lp/fee-density.js';
import {
  CodedTexts,
  NumberColumn,
  readColumns,
  type FlatSource,
  type FlatTable,
} from '../flat-columns.js';

export const TOKEN_HOURS = {
  name: 'token_hours',
  columns: {
    chain: 'shared',
    address: 'text',
    hour: 'number',
    organic_volume_usd: 'number',
  },
  keyColumns: 3,
  rising: 'hour',
} as const satisfies FlatTable;

/** Rows of mainchain tokens and hours `fromHourS <= hour <= toHourS`, in no order. */
export async function tokenHours(
  source: FlatSource,
  fromHourS: number,
  toHourS: number,
): Promise<TokenHours> {
  const token = new CodedTexts();
  const hour = NumberColumn.uints();
  const volume = NumberColumn.doubles();
  await readColumns(
    source,
    `SELECT address, hour, organic_volume_usd FROM token_hours
     WHERE hour BETWEEN ? AND ? AND chain = 'mainchain'`,
    [fromHourS, toHourS],
    [token, hour, volume],
  );
  return {
    addresses: token.texts,
    token: token.codes.values,
    hour: hour.values,
    organicVolumeUsd: volume.values,
  };
}
