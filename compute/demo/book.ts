import { hash, normal, sizeDraw, unit } from './hash.js';
import { dayShape, smoothNoise } from './path.js';
import type { BookBody, BookLevel } from './rows.js';
import { roundSize, type Step } from './tick.js';
import { wallsAt } from './walls.js';

/** One limit-order book of a token. */
export interface BookProfile {
  key: number;
  tokenKey: number;
  /** A usual level's size two percent from the price. */
  levelUsd: number;
  halfSpreadBp: number;
  basisBp: number;
  /** How far the book reaches below and above the price, as log distances. */
  depthBelow: number;
  depthAbove: number;
  /** Share of the price grid that holds an order. */
  fill: number;
  /** How long a level usually stands before its size is redrawn. */
  redrawS: number;
  tick: Step;
  lot: Step;
}

/** Log distances from the price outside which nothing is made. */
export interface Extent {
  below: number;
  above: number;
}

export const WHOLE_BOOK: Extent = { below: Infinity, above: Infinity };

/** Price grids laid over each other, finer ones near the price: log spacing, reach, size, pace. */
const LAYERS = [
  { spacing: 0.01, reach: Infinity, share: 1, pace: 1 },
  { spacing: 0.0025, reach: 0.02, share: 0.3, pace: 0.4 },
  { spacing: 0.0006, reach: 0.0035, share: 0.13, pace: 0.2 },
] as const;

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

function shapeAt(distance: number): number {
  if (distance <= SHAPE_MIN_DISTANCE) return SHAPE[0];
  return SHAPE[Math.floor(Math.log(distance / SHAPE_MIN_DISTANCE) / SHAPE_LN_STEP)];
}

const BREATH_PERIOD_S = 2_700;
const BREATH_STEP_S = 600;
/** Redraw times of single levels about the book's own. */
const PACES = Float64Array.from({ length: 16 }, (_, i) => 0.4 * Math.pow(1.15, i));

/** How full the book is: more at busy hours, and in slow waves of its own. */
function breath(key: number, t: number): number {
  return dayShape(t) * Math.exp(0.3 * smoothNoise(key, t, BREATH_PERIOD_S));
}

const BAND_WIDTH = 0.03;
const BAND_S = 3 * 3_600;
const BAND_SIGMA = 0.45;

/** Price zones that traders like or avoid for hours, the same on every venue of a token. */
function bandFactor(tokenKey: number, band: number, t: number): number {
  const h = hash(tokenKey, band);
  return Math.exp(BAND_SIGMA * normal(hash(h, Math.floor((t + (h % BAND_S)) / BAND_S))));
}

/** Collects levels in ticks on their sides, never inside the spread. */
class BookSides {
  readonly bids: BookLevel[] = [];
  readonly asks: BookLevel[] = [];
  private readonly bestBid: number;
  private readonly bestAsk: number;

  constructor(
    private readonly profile: BookProfile,
    private readonly midUsd: number,
    halfSpread: number,
  ) {
    const { perUnit } = profile.tick;
    this.bestBid = Math.floor(midUsd * (1 - halfSpread) * perUnit);
    this.bestAsk = Math.ceil(midUsd * (1 + halfSpread) * perUnit);
  }

  add(priceUsd: number, usd: number): void {
    const { tick, lot } = this.profile;
    const ticks = Math.round(priceUsd * tick.perUnit);
    const isBid = priceUsd < this.midUsd;
    const at = isBid ? Math.min(ticks, this.bestBid) : Math.max(ticks, this.bestAsk);
    if (at <= 0) return;
    const price = at / tick.perUnit;
    (isBid ? this.bids : this.asks).push([price, roundSize(usd / price, lot)]);
  }

  addTouch(usdBid: number, usdAsk: number): void {
    const { perUnit } = this.profile.tick;
    this.add(this.bestBid / perUnit, usdBid);
    this.add(this.bestAsk / perUnit, usdAsk);
  }

  body(): BookBody {
    const { lot } = this.profile;
    this.bids.sort((a, b) => b[0] - a[0]);
    this.asks.sort((a, b) => a[0] - b[0]);
    return { bids: mergeEqual(this.bids, lot), asks: mergeEqual(this.asks, lot) };
  }
}

function mergeEqual(levels: BookLevel[], lot: Step): BookLevel[] {
  const merged: BookLevel[] = [];
  for (const level of levels) {
    const last = merged.at(-1);
    if (last !== undefined && last[0] === level[0]) last[1] = roundSize(last[1] + level[1], lot);
    else merged.push(level);
  }
  return merged;
}

function addLayer(
  sides: BookSides,
  book: BookProfile,
  layer: (typeof LAYERS)[number],
  lnMid: number,
  below: number,
  above: number,
  breaths: Float64Array,
  t: number,
): void {
  const layerKey = hash(book.key, Math.round(1 / layer.spacing));
  const last = Math.floor((lnMid + Math.min(above, layer.reach)) / layer.spacing);
  let bandIndex = Number.NaN;
  let band = 1;
  for (
    let cell = Math.ceil((lnMid - Math.min(below, layer.reach)) / layer.spacing);
    cell < last;
    cell++
  ) {
    const h = hash(layerKey, cell);
    const period = Math.ceil(book.redrawS * layer.pace * PACES[h & 15]);
    const sinceDrawn = (t + (h >>> 4)) % period;
    const g = hash(h, t - sinceDrawn);
    if (unit(hash(g, 1)) >= book.fill) continue;
    const ln = (cell + 0.1 + 0.8 * unit(hash(h, 1))) * layer.spacing;
    const index = Math.floor(ln / BAND_WIDTH);
    if (index !== bandIndex) band = bandFactor(book.tokenKey, (bandIndex = index), t);
    const drawnStep = Math.floor(t / BREATH_STEP_S) - Math.floor((t - sinceDrawn) / BREATH_STEP_S);
    const fullness = breaths[Math.min(drawnStep, breaths.length - 1)];
    const size = book.levelUsd * layer.share * shapeAt(Math.abs(ln - lnMid));
    sides.add(Math.exp(ln), size * sizeDraw(g) * band * fullness);
  }
}

/** The book's own idea of the price: the token's, off by a basis of a few basis points. */
export function bookMid(book: BookProfile, priceUsd: number, t: number): number {
  return priceUsd * (1 + book.basisBp * 1e-4 * smoothNoise(hash(book.key, 1), t, 900));
}

function addWalls(sides: BookSides, book: BookProfile, midUsd: number, e: Extent, t: number) {
  const lowUsd = midUsd * Math.exp(-e.below);
  const highUsd = midUsd * Math.exp(e.above);
  for (const wall of wallsAt(book.tokenKey, book.key, midUsd, lowUsd, highUsd, t)) {
    sides.add(wall.priceUsd, wall.strength * book.levelUsd);
  }
}

const BREATH_STEPS = 6;
const TOUCH_REDRAW_S = 20;

/**
 * The book at `t` about `priceUsd`: bids best first, then asks best first, uncrossed. Levels stand
 * on absolute prices and keep their size until their own next redraw.
 */
export function bookAt(book: BookProfile, priceUsd: number, t: number, extent: Extent): BookBody {
  const midUsd = bookMid(book, priceUsd, t);
  const lnMid = Math.log(midUsd);
  const now = Math.floor(t / BREATH_STEP_S);
  const breaths = Float64Array.from({ length: BREATH_STEPS }, (_, i) =>
    breath(book.tokenKey, (now - i) * BREATH_STEP_S),
  );
  const within: Extent = {
    below: Math.min(book.depthBelow, extent.below),
    above: Math.min(book.depthAbove, extent.above),
  };
  const halfSpread = (book.halfSpreadBp * 1e-4) / Math.sqrt(breaths[0]);
  const sides = new BookSides(book, midUsd, halfSpread);
  const touch = hash(hash(book.key, 2), Math.floor(t / TOUCH_REDRAW_S));
  const touchUsd = book.levelUsd * 0.12;
  sides.addTouch(touchUsd * sizeDraw(touch), touchUsd * sizeDraw(hash(touch, 1)));
  for (const layer of LAYERS) {
    addLayer(sides, book, layer, lnMid, within.below, within.above, breaths, t);
  }
  addWalls(sides, book, midUsd, within, t);
  return sides.body();
}
