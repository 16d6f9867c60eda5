/** Prices of the simulated market: random walks whose value at any moment can be computed directly. */
import { DAY_S } from '../compute/time.js';
import { hash, normal, unit } from './hash.js';

/** The parameters of one leg's price. */
export interface PriceModel {
  /** Key of the asset's walk: both legs of an asset have the same. */
  assetKey: number;
  /** Key of the walk that all assets share. */
  marketKey: number;
  legKey: number;
  lnBase: number;
  /** Standard deviation of a day's own log return. */
  dayVolatility: number;
  /** Share of the common walk. */
  beta: number;
  /** How far the leg strays from its asset, in basis points. */
  legBp: number;
  /** Chance of a trade in any half minute; 1 for a leg that trades all the time. */
  tradeChance: number;
}

const MARKET_DAY_VOLATILITY = 0.022;
const LEG_PERIOD_S = 1_500;
export const TRADE_SLOT_S = 30;
const MAX_SLOTS_WITHOUT_TRADE = 60;
const QUOTE_REFRESH_S = 600;

/** Below this length the walk is a straight line; snapshots lie further apart. */
const FINEST_S = 16;
const LEVELS = 18;
/** The walk takes one independent value every 48.5 days: it wanders but never runs away. */
const KNOT_S = FINEST_S * 2 ** LEVELS;
/** The second grid's intervals against the first's. */
const GRID_STRETCH = 1.309;
const KNOT_SPREAD = 0.6;
/** Spread of the logarithm of a half's volatility against its parent interval's. */
const CASCADE_LAMBDA = 0.2;
/** The level at which the hour of the day scales the volatility: intervals of 68 minutes. */
const HOUR_LEVEL = 8;

/** How busy the market is at a time of day: about 1, highest at 14:30 UTC, lowest at night. */
export function dayShape(t: number): number {
  const phase = ((t % DAY_S) / DAY_S - 14.5 / 24) * 2 * Math.PI;
  return 1 + 0.28 * Math.cos(phase) + 0.1 * Math.cos(2 * phase);
}

/** Smooth noise in [-1, 1]: hashed values every `periodS`, joined by cosines. */
export function smoothNoise(key: number, t: number, periodS: number): number {
  const slot = Math.floor(t / periodS);
  const a = unit(hash(key, slot)) * 2 - 1;
  const b = unit(hash(key, slot + 1)) * 2 - 1;
  return a + (b - a) * (0.5 - 0.5 * Math.cos(Math.PI * (t / periodS - slot)));
}

/** The leg's fair price in USD at a moment, traded or not. */
export function fairPrice(model: PriceModel, t: number): number {
  const common = model.beta * MARKET_DAY_VOLATILITY * walk(model.marketKey, t);
  const own = model.dayVolatility * walk(model.assetKey, t);
  const leg = model.legBp * 1e-4 * smoothNoise(model.legKey, t, LEG_PERIOD_S);
  return Math.exp(model.lnBase + common + own + leg);
}

/** The price of the leg's last trade: what collectors report as `price_usd`. */
export function tradedPrice(model: PriceModel, t: number): number {
  return Number(fairPrice(model, lastTradeTime(model, t)).toPrecision(9));
}

/** The price of a quote token; collectors refresh it every few minutes. Null: dollars. */
export function quotePrice(model: PriceModel | null, t: number): number {
  if (model === null) return 1;
  return Number(fairPrice(model, t - (t % QUOTE_REFRESH_S)).toPrecision(7));
}

function lastTradeTime({ legKey, tradeChance }: PriceModel, t: number): number {
  if (tradeChance >= 1) return t;
  const now = Math.floor(t / TRADE_SLOT_S);
  for (let slot = now; slot > now - MAX_SLOTS_WITHOUT_TRADE; slot--) {
    const h = hash(legKey, slot);
    const at = slot * TRADE_SLOT_S + (h % TRADE_SLOT_S);
    if (at <= t && unit(hash(h, 1)) < tradeChance) return at;
  }
  return (now - MAX_SLOTS_WITHOUT_TRADE) * TRADE_SLOT_S;
}

/**
 * A random walk with random access, of about one unit's standard deviation a day: Lévy's
 * construction of Brownian motion (a hashed tent for every dyadic interval) whose amplitudes run
 * through a multiplicative cascade, as in Mandelbrot's multifractal model of returns. That gives
 * quiet and wild hours and fat tails at every scale. Two of them on grids that never line up hide
 * the tents. About 3 us.
 */
function walk(key: number, t: number): number {
  const stretched = dyadicWalk(hash(key, 1), t / GRID_STRETCH) * Math.sqrt(GRID_STRETCH);
  return (dyadicWalk(key, t) + stretched) * Math.SQRT1_2;
}

function dyadicWalk(key: number, t: number): number {
  const knot = Math.floor(t / KNOT_S);
  const spread = KNOT_SPREAD * Math.sqrt(KNOT_S / DAY_S);
  const left = normal(hash(key, knot)) * spread;
  const right = normal(hash(key, knot + 1)) * spread;
  let value = left + (right - left) * (t / KNOT_S - knot);
  let volatility = 1;
  let lengthS = KNOT_S;
  for (let level = LEVELS; level > 0; level--) {
    const position = t / lengthS;
    const interval = Math.floor(position);
    const h = hash(hash(key, level), interval);
    volatility *= Math.exp(CASCADE_LAMBDA * normal(hash(h, 1)) - CASCADE_LAMBDA * CASCADE_LAMBDA);
    if (level === HOUR_LEVEL) volatility *= dayShape((interval + 0.5) * lengthS);
    const tent = 1 - Math.abs(2 * (position - interval) - 1);
    value += 0.5 * Math.sqrt(lengthS / DAY_S) * volatility * normal(h) * tent;
    lengthS /= 2;
  }
  return value;
}
