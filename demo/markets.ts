/** Where the tokens of the simulated market trade: kinds of tokens, venues, and single markets. */
import type { Chain, ExchangeType, MarketType } from '../compute/market.js';
import type { BookProfile } from './book.js';
import { base58Address, between, evmAddress, hash, keyOf, unit } from './hash.js';
import type { PoolProfile } from './pools.js';
import type { PriceModel } from './price.js';

/** A market's identity as a row states it. */
export interface MarketHead {
  source: string;
  exchange_type: ExchangeType;
  type: MarketType;
  address: string | null;
  pair: string | null;
}

/** One market of a token with what its simulation needs. */
export type DemoMarket = { head: MarketHead } & (
  | { kind: 'book'; book: BookProfile }
  | { kind: 'clmm' | 'dlmm' | 'constant_product'; pool: PoolProfile }
);

/** How a token trades: it decides its venues, spreads and how often a price changes. */
export type TokenKind = 'major' | 'liquid' | 'listed' | 'onchain' | 'stable' | 'dormant';

/** A leg of an asset, for which markets are made. */
export interface Leg {
  chain: Chain;
  symbol: string;
  kind: TokenKind;
  /** Everything about this leg is drawn from this hash of the seed and its name. */
  key: number;
  decimals: number;
  /** What all its pools hold together. */
  liquidityUsd: number;
}

export const NATIVE_SYMBOL: Readonly<Record<Chain, string>> = {
  mainchain: 'SOL',
  evmchain: 'WETH',
};
const NATIVE_DECIMALS: Readonly<Record<Chain, number>> = { mainchain: 9, evmchain: 18 };
const STABLE_DECIMALS = 6;
const QUOTE_IS_NATIVE_SHARE = 0.3;

const SPOT = ['Binance', 'Coinbase', 'OKX', 'Bybit', 'Kraken', 'Gate', 'KuCoin', 'MEXC'];
const PERP = ['Binance Futures', 'Hyperliquid', 'Bybit Perps', 'OKX Swaps'];

/** Groups of venues by chain; a token trades at one after another of a group. */
const VENUES = {
  spot: { mainchain: SPOT, evmchain: SPOT },
  perp: { mainchain: PERP, evmchain: PERP },
  chainBook: { mainchain: ['Phoenix', 'OpenBook'], evmchain: [] },
  chainOrders: { mainchain: ['Jupiter Limit Orders'], evmchain: ['1inch Limit Orders'] },
  clmm: { mainchain: ['Orca', 'Raydium CLMM'], evmchain: ['Uniswap v3', 'PancakeSwap v3'] },
  dlmm: { mainchain: ['Meteora DLMM'], evmchain: ['LFJ'] },
  constant_product: {
    mainchain: ['Raydium', 'PumpSwap', 'Meteora DAMM'],
    evmchain: ['Uniswap v2', 'SushiSwap'],
  },
} as const;
type VenueGroup = keyof typeof VENUES;
type PoolGroup = 'clmm' | 'dlmm' | 'constant_product';

/** Books: a level's share of the leg's liquidity, spread, distance from the price, reach, pace. */
const BOOKS = {
  spot: { share: 0.0035, spreadBp: 1, basisBp: 2, reach: 0.64, fill: 0.93, pace: 1 },
  perp: { share: 0.006, spreadBp: 0.8, basisBp: 6, reach: 0.29, fill: 0.96, pace: 1 },
  chainBook: { share: 0.0008, spreadBp: 5, basisBp: 4, reach: 0.48, fill: 0.55, pace: 1 },
  chainOrders: { share: 0.0016, spreadBp: 4, basisBp: 4, reach: 0.48, fill: 0.5, pace: 8 },
} as const;

const CLMM_TIERS = [
  { feeBp: 5, step: 10 },
  { feeBp: 30, step: 60 },
  { feeBp: 100, step: 200 },
] as const;
const DLMM_STEPS = [25, 50, 80] as const;
const CONSTANT_PRODUCT_FEE_BP = 25;

/** Markets of a group; a fraction is the chance of one more. */
type Listing = Partial<Record<VenueGroup, number>>;

/** A bridged leg, or a token that no exchange lists. */
const POOLS_ALONE: Listing = { clmm: 1, dlmm: 0.9, chainOrders: 0.9 };
const OLD_POOLS_ALONE: Listing = { constant_product: 1.3, dlmm: 0.7 };
const OLD_POOLS_SHARE = 0.3;

interface KindProfile {
  /** Null for tokens that trade only in pools. */
  listing: Listing | null;
  /** Extra spread of books, and how long their levels stand. */
  spread: number;
  redrawS: number;
  /** Share of the common walk in the price. */
  beta: number;
  /** Share of raw snapshots that see a trade, hence a new price, since the one before. */
  tradedShare: number;
  /** Approximate numbers of open orders and of followed wallets. */
  dcaOrders: number;
  limitOrders: number;
  wallets: number;
}

/** No books, no orders, no wallets. */
const UNTRADED: KindProfile = {
  listing: {},
  spread: 6,
  redrawS: 900,
  beta: 0,
  tradedShare: 1,
  dcaOrders: 0,
  limitOrders: 0,
  wallets: 0,
};

export const KINDS: Readonly<Record<TokenKind, KindProfile>> = {
  major: {
    listing: {
      spot: 6,
      perp: 3,
      chainBook: 2,
      chainOrders: 1,
      clmm: 2,
      dlmm: 2,
      constant_product: 1,
    },
    spread: 1,
    redrawS: 1_100,
    beta: 1,
    tradedShare: 1,
    dcaOrders: 90,
    limitOrders: 60,
    wallets: 320,
  },
  liquid: {
    listing: {
      spot: 3.5,
      perp: 2,
      chainBook: 1,
      chainOrders: 1,
      clmm: 1,
      dlmm: 1.5,
      constant_product: 0.25,
    },
    spread: 2.5,
    redrawS: 1_300,
    beta: 1.25,
    tradedShare: 1,
    dcaOrders: 48,
    limitOrders: 36,
    wallets: 260,
  },
  listed: {
    listing: { spot: 1, clmm: 1, dlmm: 1, chainOrders: 0.5 },
    spread: 6,
    redrawS: 360,
    beta: 1.2,
    tradedShare: 0.6,
    dcaOrders: 22,
    limitOrders: 20,
    wallets: 180,
  },
  onchain: {
    listing: null,
    spread: 6,
    redrawS: 900,
    beta: 0.8,
    tradedShare: 0.5,
    dcaOrders: 12,
    limitOrders: 14,
    wallets: 140,
  },
  stable: UNTRADED,
  dormant: UNTRADED,
};

export function isBusy(kind: TokenKind): boolean {
  return kind === 'major' || kind === 'liquid';
}

/**
 * The markets of a leg, each at a different venue if the group has enough of them.
 * @param isHome false for the bridged leg of an asset, which trades only in pools
 * @param native the chain's native coin, null for that coin itself
 */
export function marketsOf(
  leg: Leg,
  isHome: boolean,
  price: PriceModel,
  native: PriceModel | null,
): DemoMarket[] {
  const pools = unit(hash(leg.key, 3)) < OLD_POOLS_SHARE ? OLD_POOLS_ALONE : POOLS_ALONE;
  const listing = (isHome ? KINDS[leg.kind].listing : null) ?? pools;
  return (Object.keys(listing) as VenueGroup[]).flatMap((group) => {
    const sources = VENUES[group][leg.chain];
    if (sources.length === 0) return [];
    const groupKey = keyOf(leg.key, group);
    const count = Math.floor((listing[group] ?? 0) + unit(groupKey));
    // The best-known venues come first; a small token may be listed at any of them.
    const first = leg.kind === 'major' ? 0 : hash(groupKey, 1);
    return Array.from({ length: count }, (_, rank): DemoMarket => {
      const source = sources[(first + rank) % sources.length];
      const key = hash(keyOf(leg.key, source), rank);
      const name = `${leg.chain} ${leg.symbol} ${source} ${rank}`;
      return group in BOOKS
        ? bookMarket(leg, group as keyof typeof BOOKS, source, name, key, rank, price)
        : poolMarket(leg, group as PoolGroup, source, name, key, price, native);
    });
  });
}

function addressOn(chain: Chain, name: string): string {
  return chain === 'mainchain' ? base58Address(name) : evmAddress(name);
}

function bookMarket(
  leg: Leg,
  group: keyof typeof BOOKS,
  source: string,
  name: string,
  key: number,
  rank: number,
  price: PriceModel,
): DemoMarket {
  const { share, spreadBp, basisBp, reach, fill, pace } = BOOKS[group];
  const { spread, redrawS } = KINDS[leg.kind];
  const isCex = group === 'spot' || group === 'perp';
  // The first venue of a group is the biggest; the rest follow a power law.
  const size = Math.pow(rank + 1, -0.8) * (0.7 + 0.6 * unit(hash(key, 11)));
  // Small tokens' books are shallow: makers stay near the price.
  const ownReach = reach * (leg.kind === 'listed' ? 0.6 : 1);
  const priceUsd = Math.exp(price.lnBase);
  const book: BookProfile = {
    key,
    tokenKey: leg.key,
    levelUsd: leg.liquidityUsd * share * size,
    halfSpreadBp: spreadBp * spread * (0.7 + 0.8 * unit(hash(key, 12))),
    basisBp,
    below: ownReach * (0.6 + 0.5 * unit(hash(key, 13))),
    above: ownReach * (0.6 + 0.5 * unit(hash(key, 14))),
    fill,
    redrawS: redrawS * pace,
    // A tick is two basis points at most, a lot ten cents' worth.
    ticksPerUnit: stepsPerUnit(priceUsd * 2e-4),
    lotsPerUnit: stepsPerUnit(0.1 / priceUsd),
  };
  const head: MarketHead = {
    source,
    exchange_type: isCex ? 'CEX' : 'DEX',
    type: group === 'spot' ? 'cex_spot' : group === 'perp' ? 'cex_perp' : 'onchain_limit_order',
    address: isCex ? null : addressOn(leg.chain, name),
    pair: `${leg.symbol}${group === 'perp' ? '-PERP' : isCex ? '/USDT' : '/USDC'}`,
  };
  return { head, kind: 'book', book };
}

function stepsPerUnit(largestStep: number): number {
  return 10 ** Math.max(0, Math.ceil(-Math.log10(largestStep)));
}

function poolMarket(
  leg: Leg,
  kind: PoolGroup,
  source: string,
  name: string,
  key: number,
  price: PriceModel,
  native: PriceModel | null,
): DemoMarket {
  const isNative = native !== null && unit(hash(key, 21)) < QUOTE_IS_NATIVE_SHARE;
  const busy = isBusy(leg.kind);
  const pool: PoolProfile = {
    key,
    price,
    quote: isNative ? native : null,
    tvlUsd: leg.liquidityUsd * (0.15 + 0.4 * unit(hash(key, 23))),
    positions: between(hash(key, 26), busy ? 65 : 24, busy ? 105 : 60),
    isFirst: unit(hash(key, 22)) < 0.7,
    tokenDecimals: leg.decimals,
    quoteDecimals: isNative ? NATIVE_DECIMALS[leg.chain] : STABLE_DECIMALS,
    ...gridOf(kind, busy, hash(key, 25)),
  };
  const head: MarketHead = {
    source,
    exchange_type: 'DEX',
    type: 'onchain_pool',
    address: addressOn(leg.chain, name),
    pair: `${leg.symbol}/${isNative ? NATIVE_SYMBOL[leg.chain] : 'USDC'}`,
  };
  return { head, kind, pool };
}

function gridOf(kind: PoolGroup, busy: boolean, h: number): Pick<PoolProfile, 'feeBp' | 'step'> {
  if (kind === 'clmm') return CLMM_TIERS[busy ? between(h, 0, 1) : between(h, 1, 2)];
  if (kind === 'constant_product') return { feeBp: CONSTANT_PRODUCT_FEE_BP, step: 0 };
  const step = busy ? 20 : DLMM_STEPS[between(h, 0, 2)];
  return { feeBp: step / 2, step };
}
