/** The table `dlmm_pools`: the newest state of each DLMM pool. */
import type { DlmmPool } from '../../compute/lp/dlmm-pool.js';
import { readRows, type ColumnReaders, type FlatSource, type FlatTable } from '../flat-columns.js';

/** DLMM pools of a store: the server keeps all of them in memory. */
export const MAX_DLMM_POOLS = 100_000;

export const DLMM_POOLS = {
  name: 'dlmm_pools',
  columns: {
    pubkey: 'text',
    bin_step: 'number',
    active_id: 'number',
    token_x_mint: 'text',
    token_y_mint: 'text',
    token_x_decimals: 'number',
    token_y_decimals: 'number',
    reserve_x: 'number',
    reserve_y: 'number',
    base_fee_pct: 'number',
    dynamic_fee_pct: 'number',
    num_positions: 'number',
    num_wallets: 'number',
  },
  keyColumns: 1,
  limit: { rows: MAX_DLMM_POOLS, of: 'pools' },
} as const satisfies FlatTable;

export async function dlmmPools(source: FlatSource): Promise<DlmmPool[]> {
  const pools: DlmmPool[] = [];
  for await (const rows of readRows(source, DLMM_POOLS, dlmmPool)) pools.push(...rows);
  return pools;
}

function dlmmPool(columns: ColumnReaders<typeof DLMM_POOLS.columns>): (row: number) => DlmmPool {
  return (row) => ({
    pubkey: columns.pubkey(row),
    binStep: columns.bin_step(row),
    activeId: columns.active_id(row),
    tokenXMint: columns.token_x_mint(row),
    tokenYMint: columns.token_y_mint(row),
    tokenXDecimals: columns.token_x_decimals(row),
    tokenYDecimals: columns.token_y_decimals(row),
    reserveX: columns.reserve_x(row),
    reserveY: columns.reserve_y(row),
    baseFeePct: columns.base_fee_pct(row),
    dynamicFeePct: columns.dynamic_fee_pct(row),
    numPositions: columns.num_positions(row),
    numWallets: columns.num_wallets(row),
  });
}
