/** The exchanges by name. */
import type { BookType, Exchange } from './exchange.js';
import { BINANCE, BINANCE_DELIVERY, BINANCE_FUTURES, BINANCE_US } from './exchanges/binance.js';
import { BYBIT } from './exchanges/bybit.js';
import { COINBASE, COINBASE_ADVANCED } from './exchanges/coinbase.js';
import { BITMEX, DERIBIT, DYDX_V3, DYDX_V4, HYPERLIQUID } from './exchanges/derivatives.js';
import { GEMINI } from './exchanges/gemini.js';
import { KRAKEN, KRAKEN_FUTURES } from './exchanges/kraken.js';
import { BITGET, OKX } from './exchanges/okx.js';
import { BITSTAMP, GATE, KUCOIN } from './exchanges/rest-books.js';

export const EXCHANGES = {
  binance: BINANCE,
  'binance-us': BINANCE_US,
  'binance-futures': BINANCE_FUTURES,
  'binance-delivery': BINANCE_DELIVERY,
  bybit: BYBIT,
  okx: OKX,
  coinbase: COINBASE,
  'coinbase-advanced': COINBASE_ADVANCED,
  kraken: KRAKEN,
  'kraken-futures': KRAKEN_FUTURES,
  bitstamp: BITSTAMP,
  bitget: BITGET,
  kucoin: KUCOIN,
  gate: GATE,
  gemini: GEMINI,
  bitmex: BITMEX,
  deribit: DERIBIT,
  hyperliquid: HYPERLIQUID,
  'dydx-v4': DYDX_V4,
  'dydx-v3': DYDX_V3,
} as const satisfies Record<string, Exchange>;

export type ExchangeName = keyof typeof EXCHANGES;
export const EXCHANGE_NAMES = Object.keys(EXCHANGES) as ExchangeName[];

/**
 * The name under which an exchange's markets of a type are stored: a venue has one type. Those of its default type have
 * the exchange's own, the others end in their type: `bybit` and `bybit-spot`, `okx` and `okx-perp`.
 */
export function venueOf(name: ExchangeName, type: BookType): string {
  if (type === EXCHANGES[name].defaultType) return name;
  return `${name}-${type === 'cex_spot' ? 'spot' : 'perp'}`;
}

/** The type that a symbol can only have; null: either. */
export function onlyTypeOf(exchange: Exchange, symbol: string): BookType | null {
  return exchange.typeOf === undefined ? exchange.defaultType : exchange.typeOf(symbol);
}
