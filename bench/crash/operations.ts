/** What is done to a store before its process is killed: files of every dataset, and what commands do besides. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Tier } from '../../compute/market.js';
import type { ComputePool } from '../../compute/pool.js';
import { backupStore } from '../../storage/backup.js';
import { pruneDepth, shrinkStore } from '../../storage/delete.js';
import { type Dataset, DATASETS } from '../../storage/ingest/datasets.js';
import { ingestFiles, type UseStore } from '../../storage/ingest/ingest.js';
import { wallMs } from '../../storage/wall-clock.js';
import { botAddress } from '../data/bots.js';

/** By the name of a stored row, the number of the file that brought it. */
export type Rows = ReadonlyMap<string, number>;

/** `null` in `brings`: the row is gone. */
export type Operation = { number: number; brings: ReadonlyMap<string, number | null> } & (
  | { kind: 'ingest'; dataset: Dataset; file: string }
  | { kind: 'prune'; token: string; beforeS: number; shrinks: boolean }
  | { kind: 'revoke'; id: string }
  | { kind: 'backup'; out: string }
);

/** The hour that has begun: of data that is older, retention and boards leave out much. */
export const HOUR = Math.floor(wallMs() / 3_600_000);
const HOUR_S = 3600;
export const TOKENS = Array.from({ length: 4 }, (_, i) => botAddress(i));
/** Times of a token's snapshots, a minute apart. */
const SLOTS = 400;
const MOST_SNAPSHOTS = 40;
/** Enough that DuckDB writes out rows ahead of their commit. */
const MANY_SNAPSHOTS = 300;
const CELLS = 24;
const MANY_CELLS = 160;

const tokenOf = (i: number): string => TOKENS[i];
const timeOf = (slot: number): number => HOUR * HOUR_S - 60 * (SLOTS - slot);
export const depthRow = (token: string, t: number, tier: Tier = 'raw'): string =>
  `depth ${token} ${t}${tier === 'raw' ? '' : ` ${tier}`}`;

/** Makes operations of a repeatable order. */
export class Operations {
  private last = 0;

  constructor(
    private readonly folder: string,
    private readonly random: () => number,
  ) {}

  /** @param liveKeys ids of keys that can be revoked */
  next(rows: Rows, liveKeys: readonly string[]): Operation {
    const number = ++this.last;
    const share = this.random();
    const pruned = tokenOf(this.below(TOKENS.length));
    const isStored = [...rows.keys()].some((name) => name.startsWith(`depth ${pruned} `));
    if (share < 0.06 && isStored) return this.prune(number, rows, pruned);
    if (share < 0.1) {
      const out = path.join(this.folder, `backup-${number}`);
      return { kind: 'backup', number, brings: new Map(), out };
    }
    if (share < 0.16 && liveKeys.length > 0) {
      const id = liveKeys[this.below(liveKeys.length)];
      return { kind: 'revoke', number, brings: new Map([[`revoked ${id}`, 1]]), id };
    }
    return this.ingest(number, DATASETS[this.below(DATASETS.length)]);
  }

  /** Raw depth before it goes. */
  retentionLimit(): number {
    return timeOf(this.below(SLOTS / 2));
  }

  private prune(number: number, rows: Rows, token: string): Operation {
    const beforeS = timeOf(this.below(SLOTS / 2));
    const gone = [...rows.keys()].filter((name) => {
      const [kind, of, t] = name.split(' ');
      return kind === 'depth' && of === token && Number(t) < beforeS;
    });
    const brings = new Map(gone.map((name) => [name, null]));
    return { kind: 'prune', number, brings, token, beforeS, shrinks: this.random() < 0.3 };
  }

  private ingest(number: number, dataset: Dataset): Operation {
    const brings = new Map<string, number>();
    const lines: string[] = [];
    const rows = this.rowsOf(dataset, number);
    for (const { name, row } of rows) {
      brings.set(name, number);
      lines.push(...[row].flat().map((one) => JSON.stringify(one)));
    }
    const file = path.join(this.folder, 'file.ndjson');
    writeFileSync(file, `${lines.join('\n')}\n`);
    return { kind: 'ingest', number, brings, dataset, file };
  }

  private rowsOf(dataset: Dataset, n: number): { name: string; row: object | object[] }[] {
    const address = (): string => tokenOf(this.below(TOKENS.length));
    const some = (most: number, of: number): number[] => [
      ...new Set(Array.from({ length: 1 + this.below(most) }, () => this.below(of))),
    ];
    const chain = 'mainchain';
    switch (dataset) {
      case 'snapshots':
      case 'cells':
        return this.depth(dataset, n);
      case 'tokens':
        return some(TOKENS.length, TOKENS.length).map((i) => ({
          name: `token ${tokenOf(i)}`,
          row: { chain, address: tokenOf(i), symbol: `S${n}`, coverage: 'full' },
        }));
      case 'holders': {
        const token = address();
        return some(4, 4).map((i) => {
          const t = (HOUR - i) * HOUR_S;
          const owners = ['one', 'two', 'three'];
          const held = owners.map((owner) => ({ token_address: token, t, owner, balance: n }));
          return { name: `holders ${token} ${t}`, row: held };
        });
      }
      case 'dca_orders':
        return some(60, 200).map((i) => ({
          name: `dca dca-${i}`,
          row: {
            ...{ dca_address: `dca-${i}`, token_address: address(), direction: 'BUY' },
            ...{ paired_symbol: 'USDC', deposited_usd: 1e9, remaining_usd: n, cycle_usd: 1 },
            ...{ cycle_frequency: 300, next_cycle_at: HOUR * HOUR_S, closed: false },
          },
        }));
      case 'limit_orders':
        return some(60, 200).map((i) => ({
          name: `limit order-${i}`,
          row: {
            ...{ order_address: `order-${i}`, chain, token_address: address() },
            ...{ direction: 'SELL', platform: 'p', paired_symbol: 'USDC', maker: tokenOf(0) },
            ...{ usd_price: 1, remaining_usd: n, pct_complete: 0, created_at: 1, closed: false },
          },
        }));
      case 'dlmm_pools':
        return some(20, 40).map((i) => ({
          name: `pool pool-${i}`,
          row: {
            ...{ pubkey: `pool-${i}`, bin_step: 80, active_id: 1 },
            ...{ token_x_mint: tokenOf(0), token_y_mint: tokenOf(1) },
            ...{ token_x_decimals: 9, token_y_decimals: 6, reserve_x: n, reserve_y: 1 },
            ...{ base_fee_pct: 1, dynamic_fee_pct: 1, num_positions: 1, num_wallets: 1 },
          },
        }));
      case 'dlmm_hours':
        return some(60, 200).map((i) => ({
          name: `hour pool-${i % 10} ${(HOUR - Math.floor(i / 10)) * HOUR_S}`,
          row: {
            ...{ pubkey: `pool-${i % 10}`, hour: (HOUR - Math.floor(i / 10)) * HOUR_S },
            ...{ fees_usd: n, volume_usd: 1, tvl_usd: 1 },
          },
        }));
      case 'token_hours':
        return some(40, 80).map((i) => {
          const hour = (HOUR - Math.floor(i / TOKENS.length)) * HOUR_S;
          const token = tokenOf(i % TOKENS.length);
          const row = { chain, address: token, hour, organic_volume_usd: n };
          return { name: `volume ${token} ${hour}`, row };
        });
    }
  }

  /** Snapshots whose price and every amount are the file's number. */
  private depth(dataset: 'snapshots' | 'cells', n: number) {
    const isLarge = this.random() < 0.1;
    const address = tokenOf(this.below(TOKENS.length));
    const count = isLarge ? MANY_SNAPSHOTS : 1 + this.below(MOST_SNAPSHOTS);
    const first = this.below(SLOTS - count);
    const bins = Array.from({ length: isLarge ? MANY_CELLS : CELLS }, (_, i) => i - 12);
    const head = { chain: 'mainchain', address, tier: 'raw', price_usd: n };
    const market = { source: 'Orca', exchange_type: 'DEX', type: 'onchain_pool', pair: null };
    return Array.from({ length: count }, (_, i) => {
      const t = timeOf(first + i);
      const amount = n / 100;
      const row =
        dataset === 'snapshots'
          ? {
              ...head,
              t,
              markets: [
                { ...market, address: 'p', cells: bins.map((bin) => [bin, amount, amount]) },
              ],
            }
          : bins.map((bin) => ({
              ...head,
              ...market,
              ...{ t, market_address: 'p', bin, support_usd: amount, resistance_usd: amount },
            }));
      return { name: depthRow(address, t), row };
    });
  }

  private below(end: number): number {
    return Math.floor(this.random() * end);
  }
}

/** Does what the command of the same name does. Resolves when that would have reported success. */
export async function perform(
  operation: Operation,
  directory: string,
  pool: ComputePool,
  useStore: UseStore,
): Promise<void> {
  switch (operation.kind) {
    case 'ingest': {
      const { dataset, file } = operation;
      const request = { directory, dataset, files: [file], merge: false, pool, useStore };
      for await (const report of ingestFiles(request)) void report;
      return;
    }
    case 'prune': {
      const { beforeS, token, shrinks } = operation;
      const name = { chain: 'mainchain', address: token } as const;
      const what = { directory, useStore, dryRun: false, beforeS, tier: null, token: name };
      await pruneDepth(what);
      if (shrinks) await shrinkStore(useStore);
      return;
    }
    case 'revoke':
      await useStore((store) => store.revokeKey(operation.id));
      return;
    case 'backup':
      await backupStore({ directory, out: operation.out, useStore });
  }
}
