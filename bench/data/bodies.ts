/** Raw market states as sent by collectors: one of each kind of body (docs/definitions.md#order-book and below). */
import { between, hash, keyOf, sizeDraw, unit } from '../../demo/hash.js';
import { BENCH_SEED, EVERY_S, START_S, benchAddress } from './pages.js';

export const BODY_KINDS = ['book', 'constant_product', 'clmm', 'dlmm'] as const;
type BodyKind = (typeof BODY_KINDS)[number];

/** Levels, ticks, bins or pools of one body. */
export const LEVELS_OF_BODY: Readonly<Record<BodyKind, number>> = {
  book: 1000,
  constant_product: 1,
  clmm: 400,
  dlmm: 140,
};

const PRICE_USD = 148;
/** Relative distance from one level of a book to the next. */
const LEVEL_STEP = 0.0004;
const DLMM_STEP_BP = 20;
/** Ticks between two neighbouring ticks with liquidity. */
const TICK_SPACING = 20;
const DECIMALS_TOKEN = 9;
const DECIMALS_USD = 6;

/** Rows of dataset `snapshots`, each with one market of this kind. */
export function bodyRows(kind: BodyKind, snapshots: number): unknown[] {
  return Array.from({ length: snapshots }, (_, s) => row(s, [market(kind, s)]));
}

/** Rows with a market of every kind, as NDJSON. */
export function bodyLines(snapshots: number): Uint8Array {
  const rows = Array.from({ length: snapshots }, (_, s) =>
    row(
      s,
      BODY_KINDS.map((kind) => market(kind, s)),
    ),
  );
  return Buffer.from(rows.map((one) => `${JSON.stringify(one)}\n`).join(''));
}

function row(snapshot: number, markets: unknown[]): unknown {
  const t = START_S + snapshot * EVERY_S;
  return { chain: 'mainchain', address: benchAddress(0), t, price_usd: PRICE_USD, markets };
}

function market(kind: BodyKind, snapshot: number): unknown {
  const key = hash(keyOf(BENCH_SEED, kind), snapshot);
  const pair = 'BENCH/USDC';
  switch (kind) {
    case 'book':
      return { source: 'Binance', exchange_type: 'CEX', pair, book: book(key) };
    case 'constant_product':
      return { source: 'Raydium', exchange_type: 'DEX', pair, constant_product: reserves(key) };
    case 'clmm':
      return { source: 'Orca', exchange_type: 'DEX', pair, clmm: clmm(key) };
    case 'dlmm':
      return { source: 'Meteora', exchange_type: 'DEX', pair, dlmm: dlmm(key) };
  }
}

function book(key: number) {
  const side = (name: string, sign: 1 | -1) => {
    const sizes = keyOf(key, name);
    return Array.from({ length: LEVELS_OF_BODY.book / 2 }, (_, i) => [
      rounded(PRICE_USD * (1 + sign * LEVEL_STEP * (i + 0.5)), 1e4),
      rounded(10 * sizeDraw(hash(sizes, i)), 1e6),
    ]);
  };
  return { bids: side('bids', -1), asks: side('asks', 1) };
}

function reserves(key: number) {
  const token = rounded(20_000 * (1 + unit(hash(key, 0))), 1e6);
  return { reserve_token: token, reserve_quote: rounded(token * PRICE_USD, 1e6), quote_usd: 1 };
}

/** Positions between pairs of ticks: liquidity enters at the lower one and leaves at the upper one. */
function clmm(key: number) {
  const raw = PRICE_USD * Math.pow(10, DECIMALS_USD - DECIMALS_TOKEN);
  const count = LEVELS_OF_BODY.clmm;
  const current = Math.round(Math.log(raw) / Math.log(1.0001) / TICK_SPACING);
  const nets = Array.from({ length: count }, () => 0n);
  for (let i = 0; i < count / 2; i++) {
    const liquidity = BigInt(between(hash(key, i), 1_000_000, 2_000_000_000)) * 1000n;
    nets[i] += liquidity;
    nets[between(hash(key, count + i), count / 2, count - 1)] -= liquidity;
  }
  const ticks = nets.map((net, i) => [(current + i - count / 2) * TICK_SPACING, String(net)]);
  return {
    sqrt_price_x96: BigInt(Math.round(Math.sqrt(raw) * 2 ** 96)).toString(),
    ticks,
    decimals0: DECIMALS_TOKEN,
    decimals1: DECIMALS_USD,
    token: 0,
    quote_usd: 1,
  };
}

function dlmm(key: number) {
  const raw = PRICE_USD * Math.pow(10, DECIMALS_USD - DECIMALS_TOKEN);
  const active = Math.round(Math.log(raw) / Math.log(1 + DLMM_STEP_BP / 10_000));
  const count = LEVELS_OF_BODY.dlmm;
  const bins = Array.from({ length: count }, (_, i) => {
    const id = active + i - count / 2;
    const amount = rounded(50 * sizeDraw(hash(key, i)), 1e6);
    return id > active ? [id, amount, 0] : [id, 0, rounded(amount * PRICE_USD, 1e6)];
  });
  return {
    bin_step: DLMM_STEP_BP,
    active_id: active,
    bins,
    decimals_x: DECIMALS_TOKEN,
    decimals_y: DECIMALS_USD,
    token: 'x',
    quote_usd: 1,
  };
}

function rounded(value: number, unitsPerOne: number): number {
  return Math.round(value * unitsPerOne) / unitsPerOne;
}
