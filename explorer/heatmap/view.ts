/** The visible range of time and price, and how it maps to pixels. */
import { LN_BIN } from './columns.js';
import type { Extent, Held } from './history.js';

/** Epoch seconds across, logarithms of prices upwards. */
export type View = Extent;

/** The closest zoom. */
const MIN_SPAN_S = 120;
const MIN_SPAN_LN = 6 * LN_BIN;
/** A view whose right end is this close to the end of the data, as a share of its span, follows it. */
export const FOLLOWS_WITHIN = 0.005;

/** Zooms about a point, given as shares of width (from the left) and height (from the bottom). */
export function zoomed(view: View, at: Point, factor: { time?: number; price?: number }): View {
  const { time = 1, price = 1 } = factor;
  const spanS = Math.max(MIN_SPAN_S, (view.to - view.from) * time);
  const spanLn = Math.max(MIN_SPAN_LN, (view.lnHigh - view.lnLow) * price);
  const from = view.from + at.x * (view.to - view.from - spanS);
  const lnLow = view.lnLow + at.y * (view.lnHigh - view.lnLow - spanLn);
  return { from, to: from + spanS, lnLow, lnHigh: lnLow + spanLn };
}

/** Moves by shares of width and height. */
export function panned(view: View, by: Point): View {
  const dt = by.x * (view.to - view.from);
  const dLn = by.y * (view.lnHigh - view.lnLow);
  return {
    from: view.from + dt,
    to: view.to + dt,
    lnLow: view.lnLow + dLn,
    lnHigh: view.lnHigh + dLn,
  };
}

/** The view moved inside `inside`; cut only if it is too large. */
export function clamped(view: View, inside: Extent): View {
  const [from, to] = kept(view.from, view.to, inside.from, inside.to);
  const [lnLow, lnHigh] = kept(view.lnLow, view.lnHigh, inside.lnLow, inside.lnHigh);
  return { from, to, lnLow, lnHigh };
}

function kept(low: number, high: number, min: number, max: number): [number, number] {
  if (high - low >= max - min) return [min, max];
  const by = Math.max(0, min - low) - Math.max(0, high - max);
  return [low + by, high + by];
}

/** The view after the data grew: it stays, unless it showed the data's right end, which it follows. */
export function followed(view: View, before: Extent, after: Extent): View {
  const span = view.to - view.from;
  if (before.to - view.to > FOLLOWS_WITHIN * span) return view;
  return { ...view, from: after.to - span, to: after.to };
}

/** Shares of width and height, or of pixels. */
export interface Point {
  x: number;
  y: number;
}

export function timeAt(view: View, x: number): number {
  return view.from + x * (view.to - view.from);
}

/** @param y share of the height, from the bottom */
export function lnPriceAt(view: View, y: number): number {
  return view.lnLow + y * (view.lnHigh - view.lnLow);
}

/** Share of the width. */
export function xOf(view: View, t: number): number {
  return (t - view.from) / (view.to - view.from);
}

/** Share of the height, from the bottom. */
export function yOf(view: View, lnPrice: number): number {
  return (lnPrice - view.lnLow) / (view.lnHigh - view.lnLow);
}

/**
 * For each column of pixels the index of its first snapshot and their number: the snapshots that begin in it, otherwise
 * the one still drawn in its middle. A gap is 1 and 0; times before all snapshots are 0 and 0.
 */
export function spansOf(
  view: Pick<View, 'from' | 'to'>,
  held: readonly Held[],
  widthPx: number,
): Uint32Array {
  const spans = new Uint32Array(2 * widthPx);
  const secondsPerPx = (view.to - view.from) / widthPx;
  let next = 0;
  while (next < held.length && held[next].t < view.from) next++;
  for (let x = 0; x < widthPx; x++) {
    const end = view.from + (x + 1) * secondsPerPx;
    const first = next;
    while (next < held.length && held[next].t < end) next++;
    if (next > first) {
      spans.set([first, next - first], 2 * x);
    } else if (first > 0 && held[first - 1].until > end - secondsPerPx / 2) {
      spans.set([first - 1, 1], 2 * x);
    } else {
      spans[2 * x] = Math.min(1, first);
    }
  }
  return spans;
}

/** Far outside the picture. */
const NO_LINE = 1e6;

/**
 * For each column of pixels the bottom and the top of the price line in it, as shares of the height; the bottom is above
 * the top if there is no line. The line joins the snapshots; before a gap it continues as long as the cells of the last
 * snapshot.
 */
export function priceLineOf(view: View, held: readonly Held[], widthPx: number): Float32Array {
  const line = new Float32Array(2 * widthPx);
  for (let x = 0; x < widthPx; x++) line.set([NO_LINE, -NO_LINE], 2 * x);
  const draw = (fromX: number, fromY: number, toX: number, toY: number): void => {
    const slope = toX > fromX ? (toY - fromY) / (toX - fromX) : 0;
    const last = Math.min(widthPx - 1, Math.floor(toX));
    for (let x = Math.max(0, Math.floor(fromX)); x <= last; x++) {
      const begin = fromY + slope * (Math.max(x, fromX) - fromX);
      const end = fromY + slope * (Math.min(x + 1, toX) - fromX);
      line[2 * x] = Math.min(line[2 * x], begin, end);
      line[2 * x + 1] = Math.max(line[2 * x + 1], begin, end);
    }
  };
  for (const [i, { t, until, lnPrice }] of held.entries()) {
    if (until < view.from) continue;
    if (t > view.to) break;
    const next = held[i + 1]?.t === until ? held[i + 1].lnPrice : lnPrice;
    const [fromX, toX] = [xOf(view, t) * widthPx, xOf(view, until) * widthPx];
    draw(fromX, yOf(view, lnPrice), toX, yOf(view, next));
  }
  return line;
}

/** Pixels read up to this many snapshots singly, and more than that as steps (steps.ts). */
const MIN_PER_PIXEL = 2;
/** Rows of the steps' textures; each bin gets as many as there is room for. */
export const ROWS = 2048;
const ROWS_PER_BIN = [4, 2, 1];

/** The positions of prices in the steps' textures. */
export interface Rows {
  perBin: number;
  /** The lowest row, counted from a price of 1, and the number of rows. */
  first: number;
  count: number;
  /** The position of the lowest row in the textures. */
  ring: number;
}

/** The step length for a picture with this many snapshots; null if pixels read them singly. */
export function stepOf(view: Extent, snapshots: number, widthPx: number): number | null {
  if (snapshots <= MIN_PER_PIXEL * widthPx) return null;
  return 2 ** Math.floor(Math.log2((view.to - view.from) / widthPx));
}

/** Null if prices have spread too far. */
export function rowsOf({ lnLow, lnHigh }: Extent): Rows | null {
  for (const perBin of ROWS_PER_BIN) {
    const first = Math.floor((lnLow / LN_BIN) * perBin);
    const count = Math.ceil((lnHigh / LN_BIN) * perBin) - first;
    if (count <= ROWS) return { perBin, first, count, ring: ((first % ROWS) + ROWS) % ROWS };
  }
  return null;
}

/** For each column of pixels the first step that begins in it, and how many do. */
export function stepsOf(view: Extent, stepS: number, widthPx: number): Float64Array {
  const steps = new Float64Array(2 * widthPx);
  const secondsPerPx = (view.to - view.from) / widthPx;
  const stepAt = (x: number): number => Math.ceil((view.from + x * secondsPerPx) / stepS);
  for (let x = 0; x < widthPx; x++) {
    const first = stepAt(x);
    steps.set([first, Math.max(1, stepAt(x + 1) - first)], 2 * x);
  }
  return steps;
}
