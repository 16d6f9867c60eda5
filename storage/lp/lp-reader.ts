/** Pools and hours as DuckDB serves them. */
import type { DlmmPool } from '../../compute/lp/dlmm-pool.js';
import type { DlmmHourColumns, LpSource, TokenHourColumns } from '../contract.js';
import type { Database, ResultChunk } from '../duckdb/database.js';
import { columnsOf, DoubleColumn, FLAT_TABLES, TextColumn, UintColumn } from '../flat-tables.js';

export class LpReader implements LpSource {
  constructor(private readonly database: Pick<Database, 'streamChunks'>) {}

  async dlmmPools(): Promise<DlmmPool[]> {
    const columns = columnsOf(FLAT_TABLES.dlmm_pools);
    const pools: DlmmPool[] = [];
    const sql = `SELECT ${columns.join(', ')} FROM dlmm_pools`;
    for await (const chunk of this.database.streamChunks(sql)) {
      pools.push(...poolsOf(chunk, columns));
    }
    return pools;
  }

  async dlmmHours(fromHourS: number, toHourS: number): Promise<DlmmHourColumns> {
    const pool = new TextColumn();
    const hour = new UintColumn();
    const [fees, volume, tvl] = [new DoubleColumn(), new DoubleColumn(), new DoubleColumn()];
    const sql = `SELECT pubkey, hour, fees_usd, volume_usd, tvl_usd FROM dlmm_hours
      WHERE hour BETWEEN ? AND ?`;
    for await (const chunk of this.database.streamChunks(sql, [fromHourS, toHourS])) {
      [pool, hour, fees, volume, tvl].forEach((column, i) => column.add(chunk, i));
    }
    return {
      pubkeys: pool.texts,
      pool: pool.codes.values,
      hour: hour.values,
      feesUsd: fees.values,
      volumeUsd: volume.values,
      tvlUsd: tvl.values,
    };
  }

  async tokenHours(fromHourS: number, toHourS: number): Promise<TokenHourColumns> {
    const token = new TextColumn();
    const hour = new UintColumn();
    const volume = new DoubleColumn();
    const sql = `SELECT address, hour, organic_volume_usd FROM token_hours
      WHERE hour BETWEEN ? AND ? AND chain = 'mainchain'`;
    for await (const chunk of this.database.streamChunks(sql, [fromHourS, toHourS])) {
      [token, hour, volume].forEach((column, i) => column.add(chunk, i));
    }
    return {
      addresses: token.texts,
      token: token.codes.values,
      hour: hour.values,
      organicVolumeUsd: volume.values,
    };
  }
}

function poolsOf(chunk: ResultChunk, columns: readonly string[]): DlmmPool[] {
  const reader = (name: string) => chunk.reader(columns.indexOf(name));
  const text = (name: string) => reader(name) as (row: number) => string;
  const number = (name: string) => reader(name) as (row: number) => number;
  const pubkey = text('pubkey');
  const binStep = number('bin_step');
  const activeId = number('active_id');
  const [mintX, mintY] = [text('token_x_mint'), text('token_y_mint')];
  const [decimalsX, decimalsY] = [number('token_x_decimals'), number('token_y_decimals')];
  const [reserveX, reserveY] = [number('reserve_x'), number('reserve_y')];
  const [baseFee, dynamicFee] = [number('base_fee_pct'), number('dynamic_fee_pct')];
  const [positions, wallets] = [number('num_positions'), number('num_wallets')];
  return Array.from({ length: chunk.rowCount }, (_, row) => ({
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
  }));
}
