/** Generated pages: ladders of one token that move from snapshot to snapshot, a function of the seed. */
import { base58Address, hash, keyOf, normal, unit } from '../../demo/hash.js';
import type { Market, MarketType } from '../../compute/market.js';
import { narrowCents, type SnapshotRun } from '../../compute/segment/run.js';

/** The seed of all generators. */
export const BENCH_SEED = 20_261_003;
/** Epoch seconds of a history's first snapshot, and seconds between snapshots. */
export const START_S = 1_791_050_400;
export const EVERY_S = 120;

/** How wide and long a page is. */
export interface PageShape {
  name: string;
  snapshots: number;
  markets: number;
  /** Cells of a snapshot, spread evenly over the markets. */
  cells: number;
}

/** A full page of a token with a dozen markets. */
export const PAGE_A: PageShape = { name: 'A', snapshots: 288, markets: 12, cells: 347 };
/** A full page of wide snapshots. */
export const PAGE_B: PageShape = { name: 'B', snapshots: 20, markets: 50, cells: 5000 };

/** The length of a token's history in the bench's stores, in pages. */
export const HISTORY_PAGES = 2;

/** A cell changes from one snapshot to the next with this probability. */
const CHANGE_SHARE = 0.6;
/** Standard deviation of a change's logarithm, and of the initial amounts. */
const CHANGE_SIGMA = 0.02;
const AMOUNT_SIGMA = 1.3;
const MEDIAN_CENTS = 75_000;
/** Cells below 1 USD are not stored. */
const LEAST_CENTS = 100;
const FIRST_PRICE_USD = 148;
const PRICE_SIGMA = 0.001;

/** Snapshots of one token, and the markets that the run's `market` column indexes. */
export interface TokenHistory {
  run: SnapshotRun;
  markets: Market[];
}

/** The address of the bench's token number `index`. */
export function benchAddress(index: number): string {
  return base58Address(`bench token ${index}`);
}

/**
 * A token's history: `snapshots` with the shape's width, every market's bins in one stretch around the price, support
 * below and resistance above it. Each cell keeps its amount or changes by some percent.
 */
export function tokenHistory(
  { cells, markets: marketCount }: PageShape,
  snapshots: number,
  tokenIndex: number,
): TokenHistory {
  const key = keyOf(hash(BENCH_SEED, tokenIndex), 'history');
  const ladder = ladderOf(cells, marketCount);
  const market = new Uint16Array(snapshots * cells);
  const bin = new Int16Array(snapshots * cells);
  const amounts = new Float64Array(snapshots * cells);
  const amountsKey = keyOf(key, 'amounts');
  for (let s = 0; s < snapshots; s++) {
    market.set(ladder.market, s * cells);
    bin.set(ladder.bin, s * cells);
    for (let c = 0; c < cells; c++) {
      const i = s * cells + c;
      amounts[i] =
        s === 0 ? firstCents(amountsKey, c) : nextCents(amountsKey, i, amounts[i - cells]);
    }
  }
  return {
    run: {
      chain: 'mainchain',
      address: benchAddress(tokenIndex),
      tier: 'raw',
      t: Uint32Array.from({ length: snapshots }, (_, s) => START_S + s * EVERY_S),
      priceUsd: pricesOf(keyOf(key, 'price'), snapshots),
      cellOffsets: Int32Array.from({ length: snapshots + 1 }, (_, s) => s * cells),
      market,
      bin,
      supportCents: sideOf(amounts, bin, (b) => b <= 0),
      resistanceCents: sideOf(amounts, bin, (b) => b > 0),
    },
    markets: marketsOf(marketCount, tokenIndex),
  };
}

/** How many tokens with how many snapshots give about `cells` cells of page A's shape. */
export function sizesOf(cells: number, mostTokens = Infinity) {
  const pageCells = PAGE_A.snapshots * PAGE_A.cells;
  const tokens = Math.max(1, Math.min(mostTokens, Math.round(cells / pageCells)));
  return { tokens, snapshots: Math.max(1, Math.round(cells / PAGE_A.cells / tokens)) };
}

/** One snapshot's cells by market, then bin. */
function ladderOf(cells: number, marketCount: number): { market: Uint16Array; bin: Int16Array } {
  const market = new Uint16Array(cells);
  const bin = new Int16Array(cells);
  for (let m = 0, at = 0; m < marketCount; m++) {
    const end = Math.floor(((m + 1) * cells) / marketCount);
    const lowest = -((end - at) >> 1);
    for (let b = lowest; at < end; b++, at++) {
      market[at] = m;
      bin[at] = b;
    }
  }
  return { market, bin };
}

function firstCents(key: number, cell: number): number {
  const cents = MEDIAN_CENTS * Math.exp(AMOUNT_SIGMA * normal(hash(key, cell)));
  return Math.max(LEAST_CENTS, Math.round(cents));
}

function nextCents(key: number, index: number, previousCents: number): number {
  const draw = hash(key, index);
  if (unit(draw) >= CHANGE_SHARE) return previousCents;
  const cents = previousCents * Math.exp(CHANGE_SIGMA * normal(hash(draw, 1)));
  return Math.max(LEAST_CENTS, Math.round(cents));
}

function pricesOf(key: number, snapshots: number): Float64Array {
  const prices = new Float64Array(snapshots);
  let price = FIRST_PRICE_USD;
  for (let s = 0; s < snapshots; s++) {
    price *= Math.exp(PRICE_SIGMA * normal(hash(key, s)));
    prices[s] = Math.round(price * 1e6) / 1e6;
  }
  return prices;
}

function sideOf(amounts: Float64Array, bin: Int16Array, holds: (bin: number) => boolean) {
  const side = amounts.map((cents, i) => (holds(bin[i]) ? cents : 0));
  return narrowCents(side, side.length);
}

const VENUES: readonly { source: string; type: MarketType }[] = [
  { source: 'Orca', type: 'onchain_pool' },
  { source: 'Raydium', type: 'onchain_pool' },
  { source: 'Phoenix', type: 'onchain_limit_order' },
  { source: 'Binance', type: 'cex_spot' },
  { source: 'Bybit Perps', type: 'cex_perp' },
];

/** Every venue has several markets, so that grouping by venue or type has something to sum. */
function marketsOf(count: number, tokenIndex: number): Market[] {
  return Array.from({ length: count }, (_, m) => {
    const { source, type } = VENUES[m % VENUES.length];
    const isBook = type === 'cex_spot' || type === 'cex_perp';
    return {
      source,
      exchangeType: isBook ? 'CEX' : 'DEX',
      type,
      address: isBook ? null : base58Address(`bench market ${tokenIndex} ${m}`),
      pair: `BENCH/USD${m}`,
    };
  });
}
