/** What an order costs in dollars, and the curve of size against cost: docs/definitions.md#slippage. */
import type { Slippage } from '../../client/index.js';
import { isOrderUsd, type Order } from '../state/url.js';

/** The most amounts of a request. */
const MOST_SIZES = 20;
/** The curve's range of sizes around the entered amount. */
const SMALLEST = 1 / 50;
const LARGEST = 20;
/** In each power of ten. */
const ROUND = [1, 1.5, 2, 3, 5, 7];

/** A cost with its bounds, each at least 0: percents of the price, or USD. */
export interface Cost {
  mean: number;
  /** If each 1% step is taken at its near end, and at its far end. */
  least: number;
  most: number;
}

export interface CostPoint {
  /** The size of the order. */
  usd: number;
  inUsd: Cost;
  inPct: Cost;
}

export type CostUnit = Order['unit'];
export const costIn = (point: CostPoint, unit: CostUnit): Cost =>
  unit === 'usd' ? point.inUsd : point.inPct;

/** The difference between an order's amount and the worth of its tokens at the price before it, USD. */
export const costUsd = (usd: number, slippagePct: number): number =>
  Math.abs(usd / (1 + slippagePct / 100) - usd);

/** A quote of `/slippage`; null if the ladder cannot fill it. */
export function costPoint(quote: {
  usd: number;
  slippage_pct: number | null;
  best_pct: number | null;
  worst_pct: number | null;
}): CostPoint | null {
  const { usd, slippage_pct: mean, best_pct: least, worst_pct: most } = quote;
  if (mean === null || least === null || most === null) return null;
  return {
    usd,
    inPct: { mean: Math.abs(mean), least: Math.abs(least), most: Math.abs(most) },
    inUsd: { mean: costUsd(usd, mean), least: costUsd(usd, least), most: costUsd(usd, most) },
  };
}

/**
 * Round amounts around the entered one, which is the first: as many as one request takes.
 *
 * @param mostUsd what the ladder may hold; Infinity if unknown
 */
export function sizesAround(usd: number, mostUsd: number): number[] {
  const sizes = new Set([usd]);
  const [low, high] = [usd * SMALLEST, Math.min(usd * LARGEST, mostUsd)];
  const add = (size: number): void => {
    if (isOrderUsd(size) && sizes.size < MOST_SIZES) sizes.add(size);
  };
  // The end of the curve, if it is near.
  if (mostUsd < usd * LARGEST) add(mostUsd);
  const lowest = Math.floor(Math.log10(low));
  for (let power = lowest; power <= Math.log10(high); power++) {
    for (const one of ROUND) {
      // Divided rather than multiplied by a fraction: 0.7, not 0.7000000000000001.
      const size = power < 0 ? one / 10 ** -power : one * 10 ** power;
      if (size >= low && size <= high) add(Math.round(size * 100) / 100);
    }
  }
  return [...sizes];
}

/** The points of the filled amounts, by size. */
export function curveOf({ quotes }: Pick<Slippage, 'quotes'>): CostPoint[] {
  const sorted = quotes.toSorted((a, b) => a.usd - b.usd);
  return sorted.flatMap((quote) => costPoint(quote) ?? []);
}
