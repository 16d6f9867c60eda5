import { BIN_COUNT, BIN_RATIO, MIN_BIN } from '../ladder.js';
import type { LadderAccumulator } from './accumulator.js';

/** Roots of the bins' edges relative to the snapshot's price: `sqrt(1.01^(b - 0.5))`. */
const SQRT_EDGES = Float64Array.from({ length: BIN_COUNT + 1 }, (_, i) =>
  Math.pow(BIN_RATIO, (MIN_BIN + i - 0.5) / 2),
);

/** A price range over which a pool's liquidity is constant, in roots of one unit of price. */
export interface LiquidityRange {
  /** Roots of the range's ends; `sqrtHigh` may be Infinity. */
  sqrtLow: number;
  sqrtHigh: number;
  /** USD that a step of 1 in the root of the price trades: L times the unit's price in USD. */
  usdPerSqrt: number;
}

/**
 * Adds `usdPerSqrt * (sqrt(c) - sqrt(a))` for each bin's part `[a, c)` of the range: below the
 * pool's price to support, above it to resistance.
 * @param sqrtScale root of the snapshot's price in the range's unit of price
 * @param sqrtPool root of the pool's price
 * @param from index of a bin that does not lie above the range
 * @returns index of the last bin reached: `from` of a range that follows this one
 */
export function addLiquidityRange(
  into: LadderAccumulator,
  range: LiquidityRange,
  sqrtScale: number,
  sqrtPool: number,
  from: number,
): number {
  const { sqrtLow, sqrtHigh, usdPerSqrt } = range;
  const { supportUsd, resistanceUsd } = into;
  let i = from;
  while (i < BIN_COUNT && SQRT_EDGES[i + 1] * sqrtScale <= sqrtLow) i++;
  const first = i;
  for (; i < BIN_COUNT; i++) {
    const a = Math.max(SQRT_EDGES[i] * sqrtScale, sqrtLow);
    const end = SQRT_EDGES[i + 1] * sqrtScale;
    const c = Math.min(end, sqrtHigh);
    if (c > a) {
      if (sqrtPool > a) supportUsd[i] += usdPerSqrt * (Math.min(c, sqrtPool) - a);
      if (sqrtPool < c) resistanceUsd[i] += usdPerSqrt * (c - Math.max(a, sqrtPool));
    }
    if (sqrtHigh <= end) break;
  }
  into.reach(first, Math.min(i, BIN_COUNT - 1));
  return i;
}
