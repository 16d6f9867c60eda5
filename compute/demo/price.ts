import { lastTradeTime, smoothNoise, walk } from './path.js';

/** What moves one leg's price. */
export interface PriceModel {
  /** The leg's own walk is the asset's: both legs carry the same key. */
  assetKey: number;
  /** The walk that every asset shares. */
  marketKey: number;
  legKey: number;
  lnBase: number;
  /** Standard deviation of a day's own log return. */
  dayVolatility: number;
  /** Share of the common walk. */
  beta: number;
  /** How far the leg strays from its asset, in basis points. */
  legBp: number;
  /** Chance of a trade in any half minute; 1 for what trades all the time. */
  tradeChance: number;
}

const MARKET_DAY_VOLATILITY = 0.022;
const LEG_PERIOD_S = 1_500;
const QUOTE_REFRESH_S = 600;

/** The leg's fair price in USD at a moment, traded or not. */
export function fairPrice(model: PriceModel, t: number): number {
  const common = model.beta * MARKET_DAY_VOLATILITY * walk(model.marketKey, t);
  const own = model.dayVolatility * walk(model.assetKey, t);
  const leg = model.legBp * 1e-4 * smoothNoise(model.legKey, t, LEG_PERIOD_S);
  return Math.exp(model.lnBase + common + own + leg);
}

/** The price of the leg's last trade: what collectors report as `price_usd`. */
export function tradedPrice(model: PriceModel, t: number): number {
  const at = lastTradeTime(model.legKey, model.tradeChance, t);
  return Number(fairPrice(model, at).toPrecision(9));
}

/** The price of a quote token; collectors refresh it every few minutes. Null stands for dollars. */
export function quotePrice(model: PriceModel | null, t: number): number {
  if (model === null) return 1;
  const at = Math.floor(t / QUOTE_REFRESH_S) * QUOTE_REFRESH_S;
  return Number(fairPrice(model, at).toPrecision(7));
}

/** What a pool's state is worked out from: a moment and the prices that hold at it. */
export interface PoolMoment {
  t: number;
  /** The price in the pool, in USD: it follows with a lag, but never further off than the fee. */
  poolUsd: number;
  quoteUsd: number;
}

/**
 * The prices around a pool: its own is that of its last trade, pulled by arbitrage to within
 * `feeBp` of the token's price.
 */
export function poolMoment(
  key: number,
  feeBp: number,
  model: PriceModel,
  quote: PriceModel | null,
  t: number,
  priceUsd: number,
): PoolMoment {
  const at = lastTradeTime(key, Math.min(0.6, model.tradeChance), t);
  const held = fairPrice(model, at);
  const slack = 1 + feeBp * 1e-4;
  const poolUsd = Math.min(priceUsd * slack, Math.max(priceUsd / slack, held));
  return { t, poolUsd, quoteUsd: quotePrice(quote, t) };
}
