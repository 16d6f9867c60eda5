/** One market's amounts by bin in USD. */
import { BIN_COUNT, BIN_RATIO, binFactor, binOfPrice, MAX_BIN, MIN_BIN } from '../ladder.js';

/**
 * Levels further than this share of their price from their bin's edges need no logarithm: it is many times
 * the rounding error of an edge.
 */
const EDGE_MARGIN = 1e-9;

/**
 * Sums of one market's support and resistance by bin, in USD before rounding. Index `i` of a column
 * is bin `MIN_BIN + i`. One accumulator is reused for many markets.
 */
export class LadderAccumulator {
  readonly supportUsd = new Float64Array(BIN_COUNT);
  readonly resistanceUsd = new Float64Array(BIN_COUNT);
  /** Levels with an amount outside the ladder since the last reset. */
  droppedLevels = 0;
  /** Levels with an amount since the last reset, including those outside the ladder. */
  levels = 0;
  /** First and last index that may hold an amount; `first > last` while none may. */
  firstIndex = BIN_COUNT;
  lastIndex = -1;
  /** Price of the snapshot, at the centre of the bins. */
  priceUsd = 1;
  /** Index of the last level's bin, and the prices that are certainly in it: the next level is often in the same bin. */
  private lastLevelIndex = 0;
  private sameBinFromUsd = Infinity;
  private sameBinToUsd = -Infinity;

  /** Empties the ladder for another market, of a snapshot at `priceUsd`. */
  reset(priceUsd: number): void {
    if (this.firstIndex <= this.lastIndex) {
      this.supportUsd.fill(0, this.firstIndex, this.lastIndex + 1);
      this.resistanceUsd.fill(0, this.firstIndex, this.lastIndex + 1);
    }
    this.firstIndex = BIN_COUNT;
    this.lastIndex = -1;
    this.droppedLevels = 0;
    this.levels = 0;
    if (priceUsd === this.priceUsd) return;
    this.priceUsd = priceUsd;
    this.sameBinFromUsd = Infinity;
    this.sameBinToUsd = -Infinity;
  }

  /** Records that indexes `first` to `last` may hold amounts; call it with every write to a column. */
  reach(first: number, last: number): void {
    if (first < this.firstIndex) this.firstIndex = first;
    if (last > this.lastIndex) this.lastIndex = last;
  }

  /**
   * Adds `usd` (above 0) of a level to one of the two columns, at the bin of `levelPriceUsd`. The prices
   * 0 and Infinity, which result from extreme exponents, are outside.
   */
  addLevel(column: Float64Array, levelPriceUsd: number, usd: number): void {
    this.levels++;
    if (levelPriceUsd > this.sameBinFromUsd && levelPriceUsd < this.sameBinToUsd) {
      column[this.lastLevelIndex] += usd;
      this.reach(this.lastLevelIndex, this.lastLevelIndex);
      return;
    }
    const bin = binOfPrice(levelPriceUsd, this.priceUsd);
    if (!(bin >= MIN_BIN && bin <= MAX_BIN)) {
      this.droppedLevels++;
      return;
    }
    const index = bin - MIN_BIN;
    column[index] += usd;
    this.reach(index, index);
    this.lastLevelIndex = index;
    this.sameBinFromUsd = this.priceUsd * binFactor(bin - 0.5) * (1 + EDGE_MARGIN);
    this.sameBinToUsd = this.priceUsd * binFactor(bin + 0.5) * (1 - EDGE_MARGIN);
  }
}

/** Square roots of the bins' edges relative to the snapshot's price: `sqrt(1.01^(b - 0.5))`. */
const SQRT_EDGES = Float64Array.from({ length: BIN_COUNT + 1 }, (_, i) =>
  Math.pow(BIN_RATIO, (MIN_BIN + i - 0.5) / 2),
);

/** A price range with constant liquidity of a pool, in square roots of one unit of price. */
interface LiquidityRange {
  /** Square roots of the range's ends; `sqrtHigh` may be Infinity. */
  sqrtLow: number;
  sqrtHigh: number;
  /** USD traded per step of 1 in the square root of the price: L times the unit's price in USD. */
  usdPerSqrt: number;
}

/**
 * Adds `usdPerSqrt * (sqrt(c) - sqrt(a))` for each bin's part `[a, c)` of the range: to support below the
 * pool's price, to resistance above it.
 * @param sqrtScale square root of the snapshot's price in the range's unit of price
 * @param sqrtPool square root of the pool's price
 * @param from index of a bin that is not above the range
 * @returns index of the last bin reached: `from` for the next range
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
