import type { Chain, MarketType } from '../market.js';
import type { AssetKind } from './assets.js';

/** How a market is simulated. */
export type MarketKind = 'book' | 'limit_orders' | 'clmm' | 'dlmm' | 'constant_product';

/** Where a token trades: one entry a market, in the order in which markets are listed. */
export interface VenueSlot {
  kind: MarketKind;
  type: MarketType;
  /** Venue names; a token takes one that it does not use yet in this slot. */
  sources: readonly string[];
  count: number;
  /** Chance that the token has these markets at all. */
  chance: number;
}

const SPOT = ['Binance', 'Coinbase', 'OKX', 'Bybit', 'Kraken', 'Gate', 'KuCoin', 'MEXC'];
const PERP = ['Binance Futures', 'Hyperliquid', 'Bybit Perps', 'OKX Swaps'];

const DEX: Readonly<Record<Chain, Readonly<Record<Exclude<MarketKind, 'book'>, string[]>>>> = {
  mainchain: {
    clmm: ['Orca', 'Raydium CLMM'],
    dlmm: ['Meteora DLMM'],
    constant_product: ['Raydium', 'PumpSwap', 'Meteora DAMM'],
    limit_orders: ['Jupiter Limit Orders'],
  },
  evmchain: {
    clmm: ['Uniswap v3', 'PancakeSwap v3'],
    dlmm: ['LFJ'],
    constant_product: ['Uniswap v2', 'SushiSwap'],
    limit_orders: ['1inch Limit Orders'],
  },
};

const ONCHAIN_BOOKS = ['Phoenix', 'OpenBook'];

function spot(count: number): VenueSlot {
  return { kind: 'book', type: 'cex_spot', sources: SPOT, count, chance: 1 };
}

function perp(count: number): VenueSlot {
  return { kind: 'book', type: 'cex_perp', sources: PERP, count, chance: 1 };
}

function onchainBook(count: number): VenueSlot {
  const sources = ONCHAIN_BOOKS;
  return { kind: 'book', type: 'onchain_limit_order', sources, count, chance: 1 };
}

function dex(chain: Chain, kind: keyof (typeof DEX)[Chain], count = 1, chance = 1): VenueSlot {
  const type = kind === 'limit_orders' ? 'onchain_limit_order' : 'onchain_pool';
  return { kind, type, sources: DEX[chain][kind], count, chance };
}

/** Pools alone: a bridged leg, or a token that no exchange lists. */
function pools(chain: Chain, pick: number): VenueSlot[] {
  if (pick < 0.25) return [dex(chain, 'constant_product'), dex(chain, 'dlmm', 1, 0.7)];
  if (pick < 0.35) return [dex(chain, 'constant_product', 2), dex(chain, 'clmm')];
  return [dex(chain, 'clmm'), dex(chain, 'dlmm'), dex(chain, 'limit_orders')];
}

/**
 * The markets of a token's leg.
 * @param isHome false for the bridged leg of an asset, which trades in pools alone.
 * @param pick a number in [0, 1) that tells tokens of one kind apart.
 */
export function venueSlots(
  kind: AssetKind,
  chain: Chain,
  isHome: boolean,
  pick: number,
): VenueSlot[] {
  if (kind === 'stable' || kind === 'dormant') return [];
  if (kind === 'onchain' || !isHome) return pools(chain, pick);
  const books = chain === 'mainchain' ? [onchainBook(kind === 'major' ? 2 : 1)] : [];
  switch (kind) {
    case 'major':
      return [
        ...[spot(6), perp(3), ...books, dex(chain, 'limit_orders'), dex(chain, 'clmm', 2)],
        ...[dex(chain, 'dlmm'), dex(chain, 'constant_product')],
      ];
    case 'liquid':
      return [
        ...[spot(pick < 0.5 ? 3 : 4), perp(2), ...books, dex(chain, 'limit_orders')],
        ...[dex(chain, 'clmm'), dex(chain, 'dlmm'), dex(chain, 'constant_product', 1, 0.25)],
      ];
    case 'listed':
      return [
        ...[spot(1), dex(chain, pick < 0.65 ? 'clmm' : 'constant_product')],
        ...[dex(chain, 'dlmm'), dex(chain, 'limit_orders', 1, 0.5)],
      ];
  }
}
