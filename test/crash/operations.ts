/** Operations on a store: ingesting files of every dataset, and what other commands do. */
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Tier } from '../../compute/market.js';
import { type Dataset, DATASETS } from '../../storage/ingest/datasets.js';
import { wallMs } from '../../storage/wall-clock.js';
import { botAddress } from '../../bench/data/bots.js';

/** Stored rows by name, each with the number of the file that brought it. */
export type Rows = ReadonlyMap<string, number>;

/** `null` in `brings`: the row is gone. */
type DepthDataset = 'snapshots' | 'cells' | 'levels';

export type Operation = { number: number; brings: ReadonlyMap<string, number | null> } & (
  | { kind: 'ingest'; dataset: Dataset; file: string; merge?: boolean }
  | { kind: 'prune'; token: string; beforeS: number; shrinks: boolean }
  | { kind: 'revoke'; id: string }
  | { kind: 'backup'; out: string }
  | { kind: 'create'; name: string }
  | { kind: 'delete'; token: string; market: string }
  | { kind: 'check' }
);

/** The current hour: retention and boards omit much of older data. */
export const HOUR = Math.floor(wallMs() / 3_600_000);
const HOUR_S = 3600;
export const TOKENS = Array.from({ length: 4 }, (_, i) => botAddress(i));
/** A token whose markets are merged into its snapshots, one at a time. */
export const MERGED = botAddress(4);
/** Times of a token's snapshots, a minute apart. */
export const SLOTS = 400;
const MOST_SNAPSHOTS = 40;
/** Enough for DuckDB to write rows before their commit. */
const MANY_SNAPSHOTS = 300;
const LARGE_SHARE = 0.06;
const CELLS = 24;
const MANY_CELLS = 160;

const tokenOf = (i: number): string => TOKENS[i];
export const timeOf = (slot: number): number => HOUR * HOUR_S - 60 * (SLOTS - slot);
export const depthRow = (token: string, t: number, tier: Tier = 'raw'): string =>
  `depth ${token} ${t}${tier === 'raw' ? '' : ` ${tier}`}`;

/** Where the files' pools trade. */
export const MARKET_SOURCE = 'Orca';
export const MARKET = {
  source: MARKET_SOURCE,
  exchange_type: 'DEX',
  type: 'onchain_pool',
  pair: null,
} as const;
export const mergedRow = (t: number, market: string): string => `merged ${t} ${market}`;

/** Whether a row is depth of a token, of any tier, before a time. */
export function isDepthBefore(name: string, token: string, beforeS: number): boolean {
  const [kind, of, t] = name.split(' ');
  return kind === 'depth' && of === token && Number(t) < beforeS;
}

/** Makes operations of a repeatable order. */
export class Operations {
  private last = 0;
  private files: string[] = [];

  constructor(
    private readonly folder: string,
    private readonly random: () => number,
  ) {}

  /** Adds a file to those removed by removeFiles(). */
  removeLater(file: string): void {
    this.files.push(file);
  }

  nextNumber(): number {
    return ++this.last;
  }

  /** Removes the files of the operations so far. */
  removeFiles(): void {
    for (const file of this.files.splice(0)) rmSync(file, { force: true });
  }

  /** @param liveKeys ids of keys that can be revoked */
  next(rows: Rows, liveKeys: readonly string[]): Operation {
    const number = this.nextNumber();
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

  /** A time before which retention removes raw depth. */
  retentionLimit(): number {
    return timeOf(this.below(SLOTS / 2));
  }

  private prune(number: number, rows: Rows, token: string): Operation {
    const beforeS = timeOf(this.below(SLOTS / 2));
    const gone = [...rows.keys()].filter((name) => isDepthBefore(name, token, beforeS));
    const brings = new Map(gone.map((name) => [name, null]));
    return { kind: 'prune', number, brings, token, beforeS, shrinks: this.random() < 0.3 };
  }

  /**
   * A file of a dataset.
   * @param firstSlot the first slot that its snapshots may use
   */
  ingest(number: number, dataset: Dataset, firstSlot = 0): Operation {
    const rows =
      dataset === 'snapshots' || dataset === 'cells' || dataset === 'levels'
        ? this.depth(dataset, number, firstSlot)
        : this.rowsOf(dataset, number);
    return this.ingestOf(number, dataset, rows);
  }

  /** A file of given rows. */
  ingestOf(
    number: number,
    dataset: Dataset,
    rows: readonly { name: string; row: object | object[] }[],
  ): Operation & { kind: 'ingest' } {
    const brings = new Map(rows.map(({ name }) => [name, number]));
    const lines = rows.flatMap(({ row }) => [row].flat().map((one) => JSON.stringify(one)));
    const file = path.join(this.folder, `file-${number}.ndjson`);
    writeFileSync(file, `${lines.join('\n')}\n`);
    this.files.push(file);
    return { kind: 'ingest', number, brings, dataset, file };
  }

  private rowsOf(
    dataset: Exclude<Dataset, DepthDataset>,
    n: number,
  ): { name: string; row: object | object[] }[] {
    const address = (): string => tokenOf(this.below(TOKENS.length));
    const some = (most: number, of: number): number[] => [
      ...new Set(Array.from({ length: 1 + this.below(most) }, () => this.below(of))),
    ];
    const chain = 'mainchain';
    switch (dataset) {
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
            dca_address: `dca-${i}`,
            token_address: address(),
            direction: 'BUY',
            paired_symbol: 'USDC',
            deposited_usd: 1e9,
            remaining_usd: n,
            cycle_usd: 1,
            cycle_frequency: 300,
            next_cycle_at: HOUR * HOUR_S,
            closed: false,
          },
        }));
      case 'limit_orders':
        return some(60, 200).map((i) => ({
          name: `limit order-${i}`,
          row: {
            order_address: `order-${i}`,
            chain,
            token_address: address(),
            direction: 'SELL',
            platform: 'p',
            paired_symbol: 'USDC',
            maker: tokenOf(0),
            usd_price: 1,
            remaining_usd: n,
            pct_complete: 0,
            created_at: 1,
            closed: false,
          },
        }));
      case 'dlmm_pools':
        return some(20, 40).map((i) => ({
          name: `pool pool-${i}`,
          row: {
            pubkey: `pool-${i}`,
            bin_step: 80,
            active_id: 1,
            token_x_mint: tokenOf(0),
            token_y_mint: tokenOf(1),
            token_x_decimals: 9,
            token_y_decimals: 6,
            reserve_x: n,
            reserve_y: 1,
            base_fee_pct: 1,
            dynamic_fee_pct: 1,
            num_positions: 1,
            num_wallets: 1,
          },
        }));
      case 'dlmm_hours':
        return some(60, 200).map((i) => ({
          name: `hour pool-${i % 10} ${(HOUR - Math.floor(i / 10)) * HOUR_S}`,
          row: {
            pubkey: `pool-${i % 10}`,
            hour: (HOUR - Math.floor(i / 10)) * HOUR_S,
            fees_usd: n,
            volume_usd: 1,
            tvl_usd: 1,
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
  private depth(dataset: DepthDataset, n: number, firstSlot: number) {
    const isLarge = firstSlot + MANY_SNAPSHOTS < SLOTS && this.random() < LARGE_SHARE;
    const address = tokenOf(this.below(TOKENS.length));
    const count = isLarge ? MANY_SNAPSHOTS : 1 + this.below(MOST_SNAPSHOTS);
    const first = firstSlot + this.below(SLOTS - firstSlot - count);
    const bins = Array.from({ length: isLarge ? MANY_CELLS : CELLS }, (_, i) => i - 12);
    const head = { chain: 'mainchain', address, tier: 'raw', price_usd: n };
    return Array.from({ length: count }, (_, i) => {
      const t = timeOf(first + i);
      const amount = n / 100;
      const row =
        dataset === 'snapshots'
          ? {
              ...head,
              t,
              markets: [
                { ...MARKET, address: 'p', cells: bins.map((bin) => [bin, amount, amount]) },
              ],
            }
          : bins.flatMap((bin): object[] => {
              const flat = { ...head, ...MARKET, t, market_address: 'p' };
              if (dataset === 'cells') {
                return [{ ...flat, bin, support_usd: amount, resistance_usd: amount }];
              }
              const price = n * 1.01 ** bin;
              return ['ask', 'bid'].map((side) => ({ ...flat, side, price, size: amount / price }));
            });
      return { name: depthRow(address, t), row };
    });
  }

  private below(end: number): number {
    return Math.floor(this.random() * end);
  }
}
