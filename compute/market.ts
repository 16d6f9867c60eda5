/** Tokens' chains, snapshots' tiers, and markets (docs/definitions.md#datasets). */

export const CHAINS = ['mainchain', 'evmchain'] as const;
export type Chain = (typeof CHAINS)[number];

/** Finest first: of two snapshots at the same time the one of the earlier tier is served. */
export const TIERS = ['raw', '15m', '1h'] as const;
export type Tier = (typeof TIERS)[number];

/** Seconds that a snapshot of a tier covers; a raw snapshot covers only its moment. */
export const TIER_LENGTH_S: Readonly<Record<Tier, number>> = { raw: 0, '15m': 900, '1h': 3600 };

export const EXCHANGE_TYPES = ['DEX', 'CEX'] as const;
export type ExchangeType = (typeof EXCHANGE_TYPES)[number];

export const MARKET_TYPES = [
  'onchain_pool',
  'onchain_limit_order',
  'cex_spot',
  'cex_perp',
] as const;
export type MarketType = (typeof MARKET_TYPES)[number];

/** Labels of the market types (docs/definitions.md#replay-facets). */
export const MARKET_TYPE_LABELS: Readonly<Record<MarketType, string>> = {
  onchain_pool: 'On-chain pools',
  onchain_limit_order: 'On-chain limit orders',
  cex_spot: 'CEX spot',
  cex_perp: 'CEX perps',
};

/** One pool or order book of a token. */
export interface Market {
  /** The venue's name, as imported. */
  source: string;
  exchangeType: ExchangeType;
  type: MarketType;
  address: string | null;
  pair: string | null;
}

/** The market into which all constant-product pools of a token are summed. */
export const CONSTANT_PRODUCT_MARKET: Readonly<Market> = {
  source: 'constant-product',
  exchangeType: 'DEX',
  type: 'onchain_pool',
  address: null,
  pair: null,
};

/** Markets are indexed with 16 bits. */
export const MAX_MARKETS_PER_TOKEN = 65_535;

/** The type of a market whose imported row has none. */
export function defaultMarketType(exchangeType: ExchangeType): MarketType {
  return exchangeType === 'CEX' ? 'cex_spot' : 'onchain_pool';
}

/**
 * A venue's key: its name in lower case, with a dash for every sequence of characters other than a-z0-9, and
 * no dash at either end. Empty if the name has no letter or digit.
 */
export function venueKey(source: string): string {
  return source
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
}

/** Identifies a market within its token: source and address, or source and pair if it has no address. */
export function marketKey(market: Pick<Market, 'source' | 'address' | 'pair'>): string {
  return market.address !== null
    ? `${market.source}\u0000a\u0000${market.address}`
    : `${market.source}\u0000p\u0000${market.pair ?? ''}`;
}

const BASE58 = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;
const EVM = /^0x[0-9a-f]{40}$/i;

/** The chain of an address, by its form; null if it is neither base58 nor `0x`. */
export function chainOfAddress(address: string): Chain | null {
  if (BASE58.test(address)) return 'mainchain';
  return EVM.test(address) ? 'evmchain' : null;
}

/** An address as stored and returned: `0x` addresses in lower case, mints unchanged. */
export function canonicalAddress(address: string): string {
  return EVM.test(address) ? address.toLowerCase() : address;
}
