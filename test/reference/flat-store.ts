/** The contents of the flat datasets in a store, as plain maps of rows by key. */
import type { FlatDataset } from '../../storage/contract.js';
import type { FlatContents } from '../support/flat.js';
import type { Json } from '../support/tables.js';

const KEYS: Record<FlatDataset, (row: Json) => string> = {
  dca_orders: (row) => row.dca_address as string,
  limit_orders: (row) => row.order_address as string,
  dlmm_pools: (row) => row.pubkey as string,
  dlmm_hours: (row) => `${row.pubkey} ${row.hour}`,
  token_hours: (row) => `${row.address} ${row.hour}`,
};

export class PlainFlatStore {
  private readonly tables: Record<FlatDataset, Map<string, Json>> = {
    dca_orders: new Map(),
    limit_orders: new Map(),
    dlmm_pools: new Map(),
    dlmm_hours: new Map(),
    token_hours: new Map(),
  };

  /** @returns tokens whose rows changed, and whether any row did */
  commit(dataset: FlatDataset, rows: readonly Json[]): { tokens: string[]; changed: boolean } {
    const table = this.tables[dataset];
    const before = new Map(table);
    for (const row of rows) {
      const key = KEYS[dataset](row);
      if (row.closed === true || row.remaining_usd === 0) table.delete(key);
      else table.set(key, row);
    }
    const tokens = new Set<string>();
    for (const key of new Set([...before.keys(), ...table.keys()])) {
      const [old, now] = [before.get(key), table.get(key)];
      if (JSON.stringify(old) === JSON.stringify(now)) continue;
      for (const row of [old, now]) if (row !== undefined) tokens.add(row.token_address as string);
    }
    return { tokens: [...tokens].sort(), changed: tokens.size > 0 };
  }

  contents(): FlatContents {
    const rows = (dataset: FlatDataset) =>
      [...this.tables[dataset]].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
    return {
      dca: rows('dca_orders').map((row) => ({
        dcaAddress: row.dca_address,
        tokenAddress: row.token_address,
        direction: row.direction,
        pairedSymbol: row.paired_symbol,
        depositedUsd: row.deposited_usd,
        remainingUsd: row.remaining_usd,
        cycleUsd: row.cycle_usd,
        cycleFrequencyS: row.cycle_frequency,
        nextCycleAtS: row.next_cycle_at,
        minUsd: row.min_usd,
        maxUsd: row.max_usd,
      })),
      limit: rows('limit_orders').map((row) => ({
        orderAddress: row.order_address,
        chain: row.chain,
        tokenAddress: row.token_address,
        direction: row.direction,
        platform: row.platform,
        pairedSymbol: row.paired_symbol,
        maker: row.maker,
        usdPrice: row.usd_price,
        remainingUsd: row.remaining_usd,
        pctComplete: row.pct_complete,
        createdAtS: row.created_at,
      })),
      pools: rows('dlmm_pools').map((row) => ({
        pubkey: row.pubkey,
        binStep: row.bin_step,
        activeId: row.active_id,
        tokenXMint: row.token_x_mint,
        tokenYMint: row.token_y_mint,
        tokenXDecimals: row.token_x_decimals,
        tokenYDecimals: row.token_y_decimals,
        reserveX: row.reserve_x,
        reserveY: row.reserve_y,
        baseFeePct: row.base_fee_pct,
        dynamicFeePct: row.dynamic_fee_pct,
        numPositions: row.num_positions,
        numWallets: row.num_wallets,
      })),
      hours: rows('dlmm_hours').map((row) => ({
        key: `${row.pubkey} ${row.hour}`,
        values: [row.fees_usd, row.volume_usd, row.tvl_usd],
      })),
      tokenHours: rows('token_hours').map((row) => ({
        key: `${row.address} ${row.hour}`,
        values: [row.organic_volume_usd],
      })),
    };
  }
}
