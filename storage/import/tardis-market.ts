import type { MarketType } from '../../compute/market.js';
import type { BookMarket } from './book.js';
import type { TardisRow } from './tardis-rows.js';

/** Names under which Tardis files exchanges (or their sections) that trade derivatives alone. */
const DERIVATIVE_EXCHANGES: ReadonlySet<string> = new Set([
  'binance-futures',
  'binance-delivery',
  'bitfinex-derivatives',
  'bitget-futures',
  'bitmex',
  'bybit',
  'crypto-com-derivatives',
  'cryptofacilities',
  'deribit',
  'dydx',
  'dydx-v4',
  'gate-io-futures',
  'huobi-dm',
  'huobi-dm-linear-swap',
  'huobi-dm-swap',
  'hyperliquid',
  'kucoin-futures',
  'okex-futures',
  'okex-swap',
  'phemex',
]);

/** The market that a Tardis file says it is of: exchange as source, symbol as pair. */
export function tardisMarket(row: Pick<TardisRow, 'exchange' | 'symbol'>): BookMarket {
  const type: MarketType = DERIVATIVE_EXCHANGES.has(row.exchange) ? 'cex_perp' : 'cex_spot';
  return { source: row.exchange, pair: row.symbol, type };
}
