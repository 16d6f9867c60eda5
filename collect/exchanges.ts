/** The exchanges by name. */
import type { Exchange } from './exchange.js';
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
