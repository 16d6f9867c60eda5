import { hash, normal, unit } from './hash.js';

export const DAY_S = 86_400;
/** Below this the walk is a straight line; snapshots lie further apart. */
const FINEST_S = 16;
const LEVELS = 18;
/** Knots of the walk: one independent value every 48.5 days, so that it wanders but never runs away. */
const KNOT_S = FINEST_S * 2 ** LEVELS;
/** The second grid's intervals against the first's. */
const GRID_STRETCH = 1.309;
const KNOT_SPREAD = 0.6;
/** Spread of the logarithm of a half's volatility against its parent interval's. */
const CASCADE_LAMBDA = 0.2;
/** The level at which the hour of the day scales the volatility: intervals of 68 minutes. */
const HOUR_LEVEL = 8;

/**
 * How busy the market is at a time of day: about 1, highest at 14:30 UTC, lowest at night.
 */
export function dayShape(t: number): number {
  const phase = ((t % DAY_S) / DAY_S - 14.5 / 24) * 2 * Math.PI;
  return 1 + 0.28 * Math.cos(phase) + 0.1 * Math.cos(2 * phase);
}

/**
 * A random walk with random access, of about one unit's standard deviation a day: Lévy's
 * construction of Brownian motion (a hashed tent for every dyadic interval) whose amplitudes run
 * through a multiplicative cascade, as in Mandelbrot's multifractal model of returns. That gives
 * quiet and wild hours and fat tails at every scale. Two of them on grids that never line up hide
 * the tents. About 3 us.
 */
export function walk(key: number, t: number): number {
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

/** Smooth noise in [-1, 1]: hashed values every `periodS`, joined by cosines. */
export function smoothNoise(key: number, t: number, periodS: number): number {
  const slot = Math.floor(t / periodS);
  const a = unit(hash(key, slot)) * 2 - 1;
  const b = unit(hash(key, slot + 1)) * 2 - 1;
  return a + (b - a) * (0.5 - 0.5 * Math.cos(Math.PI * (t / periodS - slot)));
}

export const TRADE_SLOT_S = 30;
const MAX_SLOTS_WITHOUT_TRADE = 60;

/**
 * The moment of the last trade at or before `t` where each half minute sees one with the given
 * chance; `t` itself where the chance is 1.
 */
export function lastTradeTime(key: number, chance: number, t: number): number {
  if (chance >= 1) return t;
  const now = Math.floor(t / TRADE_SLOT_S);
  for (let slot = now; slot > now - MAX_SLOTS_WITHOUT_TRADE; slot--) {
    const h = hash(key, slot);
    const at = slot * TRADE_SLOT_S + (h % TRADE_SLOT_S);
    if (at <= t && unit(hash(h, 1)) < chance) return at;
  }
  return (now - MAX_SLOTS_WITHOUT_TRADE) * TRADE_SLOT_S;
}
