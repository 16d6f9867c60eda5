/** One market's amounts by bin in USD. */
import { BIN_COUNT, BIN_RATIO, binFactor, binOfPrice, MAX_BIN, MIN_BIN } from '../ladder.js';

/**
 * Share of its price by which a level must lie within its bin to need no logarithm: many times what
 * rounding moves an edge by.
 */
const EDGE_MARGIN = 1e-9;

/**
 * Sums of one market's support and resistance by bin, in USD before rounding. Index `i` of a column
 * is bin `MIN_BIN + i`. One accumulator serves many markets.
 */
export class LadderAccumulator {
  readonly supportUsd = new Float64Array(BIN_COUNT);
  readonly resistanceUsd = new Float64Array(BIN_COUNT);
  /** Levels with an amount that lay outside the ladder since the last reset. */
  droppedLevels = 0;
  /** Levels with an amount since the last reset, including those outside the ladder. */
  levels = 0;
  /** First and last index that may hold an amount; `first > last` while none may. */
  firstIndex = BIN_COUNT;
  lastIndex = -1;
  /** Price of the snapshot, which is the centre of the bins. */
  priceUsd = 1;
  /** Index of the last level's bin, and the prices that are surely in it: the next level often is there, too. */
  private lastLevelIndex = 0;
  private sureFromUsd = Infinity;
  private sureToUsd = -Infinity;

  /** Empties the ladder for a market of a snapshot at `priceUsd`. */
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
    this.sureFromUsd = Infinity;
    this.sureToUsd = -Infinity;
  }

  /** Notes that indexes `first` to `last` may hold amounts; every write to a column calls it. */
  reach(first: number, last: number): void {
    if (first < this.firstIndex) this.firstIndex = first;
    if (last > this.lastIndex) this.lastIndex = last;
  }

  /**
   * Adds a level's `usd`, above 0, to one of the two columns at the bin of `levelPriceUsd`. Prices
   * of 0 and Infinity, which extreme exponents can give, lie outside.
   */
  addLevel(column: Float64Array, levelPriceUsd: number, usd: number): void {
    this.levels++;
    if (levelPriceUsd > this.sureFromUsd && levelPriceUsd < this.sureToUsd) {
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
    this.sureFromUsd = this.priceUsd * binFactor(bin - 0.5) * (1 + EDGE_MARGIN);
    this.sureToUsd = this.priceUsd * binFactor(bin + 0.5) * (1 - EDGE_MARGIN);
  }
}

/** Roots of the bins' edges relative to the snapshot's price: `sqrt(1.01^(b - 0.5))`. */
const SQRT_EDGES = Float64Array.from({ length: BIN_COUNT + 1 }, (_, i) =>
  Math.pow(BIN_RATIO, (MIN_BIN + i - 0.5) / 2),
);

/** A price range over which a pool's liquidity is constant, in roots of one unit of price. */
interface LiquidityRange {
  /** Roots of the range's ends; `sqrtHigh` may be Infinity. */
  sqrtLow: number;
  sqrtHigh: number;
  /** USD that a step of 1 in the root of the price trades: L times the unit's price in USD. */
  usdPerSqrt: number;
}

/**
 * Adds `usdPerSqrt * (sqrt(c) - sqrt(a))` for each bin's share `[a, c)` of the range: below the
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
