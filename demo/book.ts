/** Order books of the simulated market: levels on absolute prices, walls at round ones. */
import { HOUR_S } from '../compute/time.js';
import { hash, normal, sizeDraw, unit } from './hash.js';
import { dayShape, smoothNoise } from './price.js';

/** One order book of a token. */
export interface BookProfile {
  key: number;
  tokenKey: number;
  /** The size of a typical level two percent from the price. */
  levelUsd: number;
  halfSpreadBp: number;
  /** How far the book's own price strays from the token's. */
  basisBp: number;
  /** How far the book reaches below and above the price, as log distances. */
  below: number;
  above: number;
  /** Share of the price grid that holds an order. */
  fill: number;
  /** How long a level usually keeps its size. */
  redrawS: number;
  /** Price and size steps per unit, powers of ten: they keep printed prices short. */
  ticksPerUnit: number;
  lotsPerUnit: number;
}

/** `[price_usd, size]`. */
type BookLevel = [number, number];

/** Price grids laid over each other, finer ones near the price: log spacing, reach, size, pace. */
const LAYERS = [
  { spacing: 0.01, reach: Infinity, share: 1, pace: 1 },
  { spacing: 0.0025, reach: 0.02, share: 0.3, pace: 0.4 },
  { spacing: 0.0006, reach: 0.0035, share: 0.13, pace: 0.2 },
] as const;

const BASIS_PERIOD_S = 900;
const TOUCH_REDRAW_S = 20;
const TOUCH_SHARE = 0.12;

/** Redraw times of single levels, relative to the book's. */
const PACES = Float64Array.from({ length: 16 }, (_, i) => 0.4 * Math.pow(1.15, i));

const SHAPE_MIN_DISTANCE = 1e-4;
const SHAPE_LN_STEP = Math.log(1.25);
const HUMP_DISTANCE = 0.07;
const REFERENCE_DISTANCE = 0.02;

/** Sizes grow with the distance up to a hump and thin out beyond it; in steps of 25% distance. */
const SHAPE = Float64Array.from({ length: 48 }, (_, step) => {
  const distance = SHAPE_MIN_DISTANCE * Math.exp((step + 0.5) * SHAPE_LN_STEP);
  const rising = Math.pow(Math.min(distance, HUMP_DISTANCE) / REFERENCE_DISTANCE, 0.5);
  return rising * Math.pow(Math.max(distance / HUMP_DISTANCE, 1), -0.75);
});

const BAND_WIDTH = 0.03;
const BAND_S = 3 * HOUR_S;
const BAND_SIGMA = 0.45;

const WALL_EPOCH_S = 7 * HOUR_S;
const MIN_WALL_STRENGTH = 12;
const WALL_STRENGTH_RANGE = 70;
/** A venue carries this share of a token's walls. */
const WALL_VENUE_SHARE = 0.55;
/** A wall closer to the price than this has been taken or pulled. */
const MIN_WALL_DISTANCE = 0.003;

/**
 * The book at `t` around `priceUsd`: bids best first, then asks best first, uncrossed. Levels are
 * at absolute prices and keep their size until their next redraw.
 */
export function bookAt(book: BookProfile, priceUsd: number, t: number) {
  const { ticksPerUnit, lotsPerUnit } = book;
  const midUsd = priceUsd * (1 + book.basisBp * 1e-4 * smoothNoise(book.key, t, BASIS_PERIOD_S));
  const halfSpread = (book.halfSpreadBp * 1e-4) / Math.sqrt(dayShape(t));
  const bestBid = Math.floor(midUsd * (1 - halfSpread) * ticksPerUnit);
  const bestAsk = Math.ceil(midUsd * (1 + halfSpread) * ticksPerUnit);
  const bids: BookLevel[] = [];
  const asks: BookLevel[] = [];
  /** Adds a level to its side, never inside the spread. */
  const add = (levelUsd: number, usd: number) => {
    const ticks = Math.round(levelUsd * ticksPerUnit);
    const isBid = levelUsd < midUsd;
    const price = (isBid ? Math.min(ticks, bestBid) : Math.max(ticks, bestAsk)) / ticksPerUnit;
    const size = Math.max(1, Math.round((usd / price) * lotsPerUnit)) / lotsPerUnit;
    if (price > 0) (isBid ? bids : asks).push([price, size]);
  };
  addWalls(book, midUsd, t, add);
  const touch = hash(hash(book.key, 2), Math.floor(t / TOUCH_REDRAW_S));
  const touchUsd = book.levelUsd * TOUCH_SHARE;
  add(bestBid / ticksPerUnit, touchUsd * sizeDraw(touch));
  add(bestAsk / ticksPerUnit, touchUsd * sizeDraw(hash(touch, 1)));
  for (const layer of LAYERS) addLayer(book, layer, Math.log(midUsd), t, add);
  bids.sort((a, b) => b[0] - a[0]);
  asks.sort((a, b) => a[0] - b[0]);
  return { bids: bids.filter(isFirstAtPrice), asks: asks.filter(isFirstAtPrice) };
}

/** Of several levels at one price, the first stays: walls come first. */
function isFirstAtPrice([price]: BookLevel, i: number, levels: readonly BookLevel[]): boolean {
  return i === 0 || levels[i - 1][0] !== price;
}

type AddLevel = (priceUsd: number, usd: number) => void;

function addLayer(
  book: BookProfile,
  { spacing, reach, share, pace }: (typeof LAYERS)[number],
  lnMid: number,
  t: number,
  add: AddLevel,
): void {
  const layerKey = hash(book.key, Math.round(1 / spacing));
  const last = Math.floor((lnMid + Math.min(book.above, reach)) / spacing);
  let band = NaN;
  let interest = 1;
  for (let cell = Math.ceil((lnMid - Math.min(book.below, reach)) / spacing); cell < last; cell++) {
    const h = hash(layerKey, cell);
    const periodS = Math.ceil(book.redrawS * pace * PACES[h & 15]);
    const drawn = hash(h, t - ((t + (h >>> 4)) % periodS));
    if (unit(hash(drawn, 1)) >= book.fill) continue;
    const ln = (cell + 0.1 + 0.8 * unit(hash(h, 1))) * spacing;
    const bandOfLevel = Math.floor(ln / BAND_WIDTH);
    if (bandOfLevel !== band) interest = interestIn(hash(book.tokenKey, (band = bandOfLevel)), t);
    const size = book.levelUsd * share * shapeAt(Math.abs(ln - lnMid));
    add(Math.exp(ln), size * sizeDraw(drawn) * interest);
  }
}

function shapeAt(distance: number): number {
  if (distance <= SHAPE_MIN_DISTANCE) return SHAPE[0];
  return SHAPE[Math.floor(Math.log(distance / SHAPE_MIN_DISTANCE) / SHAPE_LN_STEP)];
}

/**
 * How full a band of prices is: traders like or avoid it for hours, the same on every venue of a
 * token, and there are more orders at busy hours.
 */
function interestIn(bandKey: number, t: number): number {
  const period = Math.floor((t + (bandKey % BAND_S)) / BAND_S);
  return dayShape(period * BAND_S) * Math.exp(BAND_SIGMA * normal(hash(bandKey, period)));
}

/** Large resting orders at prices of two significant digits: bids below the price, asks above. */
function addWalls(book: BookProfile, midUsd: number, t: number, add: AddLevel): void {
  const lowUsd = midUsd * Math.exp(-book.below);
  const highUsd = midUsd * Math.exp(book.above);
  const lastDecade = Math.floor(Math.log10(highUsd)) - 1;
  for (let decade = Math.floor(Math.log10(lowUsd)) - 1; decade <= lastDecade; decade++) {
    const decadeKey = hash(book.tokenKey, decade);
    for (let digits = 10; digits < 100; digits++) {
      const priceUsd = decade < 0 ? digits / 10 ** -decade : digits * 10 ** decade;
      if (priceUsd < lowUsd || priceUsd > highUsd) continue;
      if (Math.abs(priceUsd / midUsd - 1) < MIN_WALL_DISTANCE) continue;
      const h = hash(decadeKey, digits);
      if (unit(hash(book.key, h)) >= WALL_VENUE_SHARE) continue;
      const strength = wallAt(h, digits, priceUsd < midUsd, t);
      if (strength > 0) add(priceUsd, strength * book.levelUsd);
    }
  }
}

/** Strength of the wall at one round price, as a multiple of the usual level; a wall lasts two to five hours. 0: no wall. */
function wallAt(h: number, digits: number, isBid: boolean, t: number): number {
  const position = (t + (h % WALL_EPOCH_S)) / WALL_EPOCH_S;
  const epoch = Math.floor(position);
  const g = hash(h, epoch);
  // Rounder prices more often: 10, 20, ..., then 15, 25, ..., then the rest.
  const chance = digits % 10 === 0 ? 0.6 : digits % 5 === 0 ? 0.36 : 0.07;
  if (unit(g) >= chance || ((hash(g, 1) & 1) === 1) === isBid) return 0;
  const sinceStart = position - epoch - 0.45 * unit(hash(g, 2));
  if (sinceStart < 0 || sinceStart > 0.25 + 0.4 * unit(hash(g, 3))) return 0;
  return MIN_WALL_STRENGTH + WALL_STRENGTH_RANGE * unit(hash(g, 4)) ** 3;
}
