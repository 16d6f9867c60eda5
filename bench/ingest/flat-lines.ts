/** Rows of the flat datasets as NDJSON, and counts of them in a store. */
import { decodeHolderBlock } from '../../compute/holders/block-decoder.js';
import { HOURS_IN_SIGHT, hourOf } from '../../compute/lp/hours.js';
import type { DcaOrder } from '../../compute/orders/dca-orders.js';
import { DAY_S, HOUR_S } from '../../compute/time.js';
import { base58Address, hash, keyOf, normal, unit } from '../../demo/hash.js';
import { USDC_MINT } from '../../demo/tokens.js';
import type { FlatDataset } from '../../storage/contract.js';
import type { Store } from '../../storage/store.js';
import { asOfS } from '../cases/http.js';
import { BOT_CELLS, botAddress, botPool, botSnapshotLine, botTokenLine } from '../data/bots.js';
import { benchOrders } from '../data/orders.js';
import { BENCH_SEED, benchAddress, PAGE_A, START_S } from '../data/pages.js';
import { TextFile } from './depth-lines.js';
import type { Contents, Written } from './written.js';

/** Owners per snapshot; every day has the same ones with other balances. */
const OWNERS = 5_000;
/** Most daily snapshots per token. */
const DAYS = 30;

export function holderLines(file: string, wanted: number): Written {
  const out = new TextFile(file);
  const owners = Array.from({ length: Math.min(OWNERS, wanted) }, (_, i) =>
    base58Address(`bench owner ${i}`),
  );
  const snapshots = Math.max(1, Math.round(wanted / owners.length));
  for (let s = 0; s < snapshots; s++) {
    const token = Math.floor(s / DAYS);
    const head = { token_address: benchAddress(token), t: START_S - (DAYS - (s % DAYS)) * DAY_S };
    const key = hash(keyOf(BENCH_SEED, 'holders'), token);
    owners.forEach((owner, i) => {
      const changed = hash(key, i) % DAYS === s % DAYS ? s : 0;
      const balance =
        Math.round(1e6 * Math.exp(2 * normal(hash(hash(key, i), changed)))) / 1000 + 1;
      out.write(`${JSON.stringify({ ...head, owner, balance })}\n`);
    });
  }
  out.close();
  const rows = snapshots * owners.length;
  return { rows, cells: 0, tokens: Math.ceil(snapshots / DAYS), items: rows };
}

/** Counts the tokens with holders, and the rows of their snapshots. */
export async function countHolders(store: Store): Promise<Contents> {
  let tokens = 0;
  let items = 0;
  for (;;) {
    const address = benchAddress(tokens);
    const times = Array.from(await store.holders.times(address));
    if (times.length === 0) return { tokens, items };
    const { blocks } = await store.holders.read(address, times);
    for (const block of blocks) {
      for (const { owner } of decodeHolderBlock(block, times)) items += owner.length;
    }
    tokens++;
  }
}

export function orderLines(file: string, wanted: number): Written {
  const out = new TextFile(file);
  let rows = 0;
  for (let token = 0; rows < wanted; token++) {
    for (const order of benchOrders(token).slice(0, wanted - rows)) {
      out.write(`${JSON.stringify(dcaOrderRow(order))}\n`);
      rows++;
    }
  }
  out.close();
  return { rows, cells: 0, tokens: 0, items: rows };
}

/** A row of `dca_orders`. */
export function dcaOrderRow(order: DcaOrder) {
  const { minUsd: a, maxUsd: b } = order;
  const range = a === null || b === null ? [null, null] : [Math.min(a, b), Math.max(a, b)];
  return {
    dca_address: order.dcaAddress,
    token_address: order.tokenAddress,
    direction: order.direction,
    paired_symbol: order.pairedSymbol,
    deposited_usd: order.depositedUsd,
    remaining_usd: order.remainingUsd,
    cycle_usd: order.cycleUsd,
    cycle_frequency: order.cycleFrequencyS,
    next_cycle_at: order.nextCycleAtS,
    min_usd: range[0],
    max_usd: range[1],
  };
}

/** Rows of `tokens` for the bots' tokens. */
export function tokenLines(file: string, rows: number): Written {
  return linesOf(file, rows, botTokenLine, { tokens: rows, items: 0 });
}

/** One small ladder for each of `rows` tokens. */
export function ladderLines(file: string, rows: number): Written {
  const cells = rows * BOT_CELLS;
  const line = (i: number) => botSnapshotLine(i, START_S);
  return { ...linesOf(file, rows, line, { tokens: rows, items: cells }), cells };
}

/** Makes row number `i` of `of` of the other datasets. */
export const ROW_OF = {
  limit_orders: (i: number) => ({
    order_address: base58Address(`limit order ${i}`),
    chain: 'mainchain',
    token_address: benchAddress(i % ORDER_TOKENS),
    direction: i % 2 === 0 ? 'BUY' : 'SELL',
    platform: 'bench',
    paired_symbol: 'USDC',
    maker: base58Address(`maker ${i % 1000}`),
    usd_price: 0.5 + 3 * draw(i, 0),
    remaining_usd: 1 + 1000 * draw(i, 1),
    pct_complete: draw(i, 2),
    created_at: START_S - i,
  }),
  dlmm_pools: (i: number) => ({
    pubkey: botPool(i),
    bin_step: 20,
    active_id: -100,
    token_x_mint: botAddress(i),
    token_y_mint: USDC_MINT,
    token_x_decimals: 9,
    token_y_decimals: 6,
    reserve_x: 1e6 * draw(i, 0),
    reserve_y: 1e4,
    base_fee_pct: 0.2,
    dynamic_fee_pct: 0.1,
    num_positions: 10,
    num_wallets: 5,
  }),
  dlmm_hours: (i: number, of: number) => ({
    pubkey: botPool(i % hourlyOwners(of)),
    hour: hourOfRow(i, of),
    fees_usd: draw(i, 0),
    volume_usd: 1000 * draw(i, 1),
    tvl_usd: 1e5 * draw(i, 2),
  }),
  token_hours: (i: number, of: number) => ({
    chain: 'mainchain',
    address: botAddress(i % hourlyOwners(of)),
    hour: hourOfRow(i, of),
    organic_volume_usd: 1000 * draw(i, 0),
  }),
} as const satisfies Partial<Record<FlatDataset, (i: number, of: number) => object>>;

/** How many tokens the limit orders are spread over. */
const ORDER_TOKENS = 1000;
const draw = (i: number, field: number): number => unit(hash(hash(BENCH_SEED, i), field));
const LAST_HOUR_S = hourOf(asOfS(PAGE_A));
/** How many pools or tokens have a row for each hour in sight. */
const hourlyOwners = (rows: number): number => Math.ceil(rows / HOURS_IN_SIGHT);
const hourOfRow = (i: number, of: number): number =>
  LAST_HOUR_S - Math.floor(i / hourlyOwners(of)) * HOUR_S;

export function flatLines(file: string, dataset: keyof typeof ROW_OF, rows: number): Written {
  const line = (i: number) => JSON.stringify(ROW_OF[dataset](i, rows));
  return linesOf(file, rows, line, { tokens: 0, items: rows });
}

function linesOf(
  file: string,
  rows: number,
  lineOf: (i: number) => string,
  contents: Contents,
): Written {
  const out = new TextFile(file);
  for (let i = 0; i < rows; i++) out.write(`${lineOf(i)}\n`);
  out.close();
  return { rows, cells: 0, ...contents };
}

/** The number of rows of a dataset in a store. */
export async function countRows(store: Store, dataset: FlatDataset): Promise<number> {
  const hours = [LAST_HOUR_S - HOURS_IN_SIGHT * HOUR_S, LAST_HOUR_S] as const;
  switch (dataset) {
    case 'dca_orders':
      return countOrders(store.orders.dca.all());
    case 'limit_orders':
      return countOrders(store.orders.limit.all());
    case 'dlmm_pools':
      return (await store.lp.dlmmPools()).length;
    case 'dlmm_hours':
      return (await store.lp.dlmmHours(...hours)).hour.length;
    case 'token_hours':
      return (await store.lp.tokenHours(...hours)).hour.length;
  }
}

async function countOrders(parts: AsyncIterable<readonly object[]>): Promise<number> {
  let orders = 0;
  for await (const some of parts) orders += some.length;
  return orders;
}
