/** Pools and hours kept in memory. */
import type { DlmmPool } from '../../compute/lp/dlmm-pool.js';
import type { DlmmHourColumns, LpSource, TokenHourColumns } from '../../storage/contract.js';

export interface PoolHour {
  pubkey: string;
  hour: number;
  feesUsd: number;
  volumeUsd: number;
  tvlUsd: number;
}

export interface TokenHour {
  address: string;
  hour: number;
  organicVolumeUsd: number;
}

export class MemoryLp implements LpSource {
  pools: DlmmPool[] = [];
  poolHours: PoolHour[] = [];
  mintHours: TokenHour[] = [];
  /** Calls so far, of any kind. */
  reads = 0;
  /** Awaited before every read: tests hold reads up, or let them fail, here. */
  beforeRead: () => Promise<void> = async () => {};

  async dlmmPools(): Promise<DlmmPool[]> {
    await this.read();
    return this.pools.map((pool) => ({ ...pool }));
  }

  async dlmmHours(fromHourS: number, toHourS: number): Promise<DlmmHourColumns> {
    await this.read();
    const rows = this.poolHours.filter(({ hour }) => hour >= fromHourS && hour <= toHourS);
    const pubkeys = [...new Set(rows.map(({ pubkey }) => pubkey))];
    return {
      pubkeys,
      pool: Uint32Array.from(rows, ({ pubkey }) => pubkeys.indexOf(pubkey)),
      hour: Uint32Array.from(rows, ({ hour }) => hour),
      feesUsd: Float64Array.from(rows, ({ feesUsd }) => feesUsd),
      volumeUsd: Float64Array.from(rows, ({ volumeUsd }) => volumeUsd),
      tvlUsd: Float64Array.from(rows, ({ tvlUsd }) => tvlUsd),
    };
  }

  async tokenHours(fromHourS: number, toHourS: number): Promise<TokenHourColumns> {
    await this.read();
    const rows = this.mintHours.filter(({ hour }) => hour >= fromHourS && hour <= toHourS);
    const addresses = [...new Set(rows.map(({ address }) => address))];
    return {
      addresses,
      token: Uint32Array.from(rows, ({ address }) => addresses.indexOf(address)),
      hour: Uint32Array.from(rows, ({ hour }) => hour),
      organicVolumeUsd: Float64Array.from(rows, ({ organicVolumeUsd }) => organicVolumeUsd),
    };
  }

  private read(): Promise<void> {
    this.reads++;
    return this.beforeRead();
  }
}
