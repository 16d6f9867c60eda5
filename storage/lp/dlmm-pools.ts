/** The table `dlmm_pools`: the newest state of each DLMM pool. */
import type { DlmmPool } from '../../compute/lp/dlmm-pool.js';
import { readRows, type ColumnReaders, type FlatSource, type FlatTable } from '../flat-columns.js';

/** DLMM pools of a store: the server holds all of them in memory. */
const MAX_DLMM_POOLS = 100_000;

export const DLMM_POOLS: FlatTable = {
  name: 'dlmm_pools',
  columns: [
    'pubkey',
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
  keyColumns: 1,
  limit: { rows: MAX_DLMM_POOLS, of: 'pools' },
};

export async function dlmmPools(source: FlatSource): Promise<DlmmPool[]> {
  const pools: DlmmPool[] = [];
  for await (const rows of readRows(source, DLMM_POOLS, dlmmPool)) pools.push(...rows);
  return pools;
}

function dlmmPool({ text, number }: ColumnReaders): (row: number) => DlmmPool {
  const pubkey = text('pubkey');
  const binStep = number('bin_step');
  const activeId = number('active_id');
  const [mintX, mintY] = [text('token_x_mint'), text('token_y_mint')];
  const [decimalsX, decimalsY] = [number('token_x_decimals'), number('token_y_decimals')];
  const [reserveX, reserveY] = [number('reserve_x'), number('reserve_y')];
  const [baseFee, dynamicFee] = [number('base_fee_pct'), number('dynamic_fee_pct')];
  const [positions, wallets] = [number('num_positions'), number('num_wallets')];
  return (row) => ({
    pubkey: pubkey(row),
    binStep: binStep(row),
    activeId: activeId(row),
    tokenXMint: mintX(row),
    tokenYMint: mintY(row),
    tokenXDecimals: decimalsX(row),
    tokenYDecimals: decimalsY(row),
    reserveX: reserveX(row),
    reserveY: reserveY(row),
    baseFeePct: baseFee(row),
    dynamicFeePct: dynamicFee(row),
    numPositions: positions(row),
    numWallets: wallets(row),
  });
}
