import { BIN_COUNT, MAX_BIN, MIN_BIN, binOfPrice } from '../ladder/ladder.js';

/**
 * Sums of one market's support and resistance by bin, in USD before rounding. Index `i` of a column
 * is bin `MIN_BIN + i`. Reused from market to market.
 */
export class LadderAccumulator {
  readonly supportUsd = new Float64Array(BIN_COUNT);
  readonly resistanceUsd = new Float64Array(BIN_COUNT);
  /** Levels with an amount that lay outside the ladder since the last reset. */
  droppedLevels = 0;
  /** Price of the snapshot that the bins stand around. */
  priceUsd = 1;

  /** Empties the ladder for a market of a snapshot at `priceUsd`. */
  reset(priceUsd: number): void {
    this.supportUsd.fill(0);
    this.resistanceUsd.fill(0);
    this.droppedLevels = 0;
    this.priceUsd = priceUsd;
  }

  /**
   * Adds a level's `usd` to one of the two columns at the bin of `levelPriceUsd` (a price of 0 or
   * Infinity, which extreme exponents can give, lies outside). For levels with an amount alone.
   */
  addLevel(column: Float64Array, levelPriceUsd: number, usd: number): void {
    const bin = binOfPrice(levelPriceUsd, this.priceUsd);
    if (bin >= MIN_BIN && bin <= MAX_BIN) column[bin - MIN_BIN] += usd;
    else this.droppedLevels++;
  }
}
