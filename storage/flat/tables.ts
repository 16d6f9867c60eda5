/** The flat datasets that are tables of their own, and how a table's rows are told apart. */

export const FLAT_DATASETS = [
  'dca_orders',
  'limit_orders',
  'dlmm_pools',
  'dlmm_hours',
  'token_hours',
] as const;
export type FlatDataset = (typeof FLAT_DATASETS)[number];

/** Orders of one dataset that are neither closed nor used up: all of them are held in memory. */
export const MAX_ACTIVE_ORDERS = 1_000_000;
/** Pools, which are held in memory too. */
export const MAX_DLMM_POOLS = 100_000;

/** A table has its dataset's name. */
export interface FlatTable {
  /** Columns whose values name a row. They come first, in this order. */
  key: readonly string[];
  /** The other columns, in the table's order. */
  values: readonly string[];
  /** The column of the token that a row belongs to, where changes are told token by token. */
  token?: string;
  /** The column of `key` that rises from file to file: few row groups need be searched by it. */
  rising?: string;
  /** Greatest number of rows, and what they are to people. */
  limit?: { rows: number; of: string };
}

export const FLAT_TABLES: Readonly<Record<FlatDataset, FlatTable>> = {
  dca_orders: {
    key: ['dca_address'],
    values: [
      'token_address',
      'direction',
      'paired_symbol',
      'deposited_usd',
      'remaining_usd',
      'cycle_usd',
      'cycle_frequency',
      'next_cycle_at',
      'min_usd',
      'max_usd',
    ],
    token: 'token_address',
    limit: { rows: MAX_ACTIVE_ORDERS, of: 'active orders' },
  },
  limit_orders: {
    key: ['order_address'],
    values: [
      'chain',
      'token_address',
      'direction',
      'platform',
      'paired_symbol',
      'maker',
      'usd_price',
      'remaining_usd',
      'pct_complete',
      'created_at',
    ],
    token: 'token_address',
    limit: { rows: MAX_ACTIVE_ORDERS, of: 'active orders' },
  },
  dlmm_pools: {
    key: ['pubkey'],
    values: [
      'bin_step',
      'active_id',
      'token_x_mint',
      'token_y_mint',
      'token_x_decimals',
      'token_y_decimals',
      'reserve_x',
      'reserve_y',
      'base_fee_pct',
      'dynamic_fee_pct',
      'num_positions',
      'num_wallets',
    ],
    limit: { rows: MAX_DLMM_POOLS, of: 'pools' },
  },
  dlmm_hours: {
    key: ['pubkey', 'hour'],
    values: ['fees_usd', 'volume_usd', 'tvl_usd'],
    rising: 'hour',
  },
  token_hours: {
    key: ['chain', 'address', 'hour'],
    values: ['organic_volume_usd'],
    rising: 'hour',
  },
};

/** A table's columns in order. */
export function columnsOf({ key, values }: FlatTable): string[] {
  return [...key, ...values];
}
