/** The bins of a snapshot whose price lies in a range of prices. */
import { BIN_COUNT, BIN_RATIO, MIN_BIN, binFactor, type BinRange } from '../ladder/ladder.js';

const HALF_BIN = Math.sqrt(BIN_RATIO);
/** Relative, at both ends, as a band has it: rounding must not decide about a bin at the very end. */
const TOLERANCE = 1e-9;
const LOW_FACTOR = (1 - TOLERANCE) / HALF_BIN;
const HIGH_FACTOR = (1 + TOLERANCE) * HALF_BIN;

const FACTORS = Float64Array.from({ length: BIN_COUNT }, (_, i) => binFactor(MIN_BIN + i));

/**
 * Bins of a snapshot at `priceUsd` whose price `priceUsd * 1.01^b` lies in
 * `[lowUsd / 1.01^0.5, highUsd * 1.01^0.5]`, with a relative tolerance of 1e-9 at both ends;
 * `first > last` where the range holds no bin of the ladder. A wider range never gives fewer bins.
 */
export function binsOfPrices(priceUsd: number, lowUsd: number, highUsd: number): BinRange {
  const low = (lowUsd / priceUsd) * LOW_FACTOR;
  const high = (highUsd / priceUsd) * HIGH_FACTOR;
  return { first: MIN_BIN + countBelow(low, false), last: MIN_BIN + countBelow(high, true) - 1 };
}

/** Bins of the ladder whose factor is below `factor`; with `orEqual` those at it too. */
function countBelow(factor: number, orEqual: boolean): number {
  let from = 0;
  let to = BIN_COUNT;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (FACTORS[middle] < factor || (orEqual && FACTORS[middle] === factor)) from = middle + 1;
    else to = middle;
  }
  return from;
}
