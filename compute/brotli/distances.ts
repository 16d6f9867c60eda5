/** Brotli's distances (RFC 7932, 4): some by what the last ones were, the others as they are. */

export const DISTANCE_SYMBOLS = 64;
/** A distance is farther from the last ones than these symbols reach. */
const FIRST_PLAIN_SYMBOL = 16;
/** By how much more than one of the last ones, from -3 on: symbols of the last, of the one before. */
const NEAR_LAST = [8, 6, 4, 0, 5, 7, 9];
const NEAR_SECOND = [14, 12, 10, 1, 11, 13, 15];
const MAX_STEP = 3;
/** Where nothing is known of a last distance: no distance is near it. */
const UNKNOWN = -1000;

/**
 * Finds distances' symbols. A piece knows of no distance but its own: what stands before it is not
 * the same on every page.
 */
export class LastDistances {
  private first = UNKNOWN;
  private second = UNKNOWN;
  private third = UNKNOWN;
  private fourth = UNKNOWN;

  clear(): void {
    this.first = this.second = this.third = this.fourth = UNKNOWN;
  }

  /** The symbol of the next distance; 0: it is the last one. */
  symbolOf(distance: number): number {
    const symbol = this.find(distance);
    if (symbol !== 0) {
      this.fourth = this.third;
      this.third = this.second;
      this.second = this.first;
      this.first = distance;
    }
    return symbol;
  }

  private find(distance: number): number {
    const step = distance - this.first + MAX_STEP;
    if (step >= 0 && step <= 2 * MAX_STEP) return NEAR_LAST[step];
    if (distance === this.third) return 2;
    if (distance === this.fourth) return 3;
    const secondStep = distance - this.second + MAX_STEP;
    if (secondStep >= 0 && secondStep <= 2 * MAX_STEP) return NEAR_SECOND[secondStep];
    const rest = distance + 3;
    const bits = extraBits(rest);
    return FIRST_PLAIN_SYMBOL + 2 * (bits - 1) + ((rest >> bits) & 1);
  }
}

/** Bits that follow a distance's symbol. */
export function distanceExtraBits(symbol: number): number {
  return symbol < FIRST_PLAIN_SYMBOL ? 0 : 1 + ((symbol - FIRST_PLAIN_SYMBOL) >> 1);
}

/** What they say. */
export function distanceExtra(distance: number): number {
  const rest = distance + 3;
  return rest & ((1 << extraBits(rest)) - 1);
}

function extraBits(rest: number): number {
  return 30 - Math.clz32(rest);
}
