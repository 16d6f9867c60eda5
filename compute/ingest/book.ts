/** Order books as depth. */
import type { LadderAccumulator } from './accumulator.js';
import { type FaultLog, type Fields, isTuple, NOT_NEGATIVE, POSITIVE, readList } from './fields.js';

/**
 * Adds a `book` body (docs/definitions.md#order-book) to the ladder: a bid's `price * size` to the
 * support of its bin, an ask's to the resistance. Reads and bins in one pass: most input is books.
 * @returns the best prices
 */
export function addBook(
  into: LadderAccumulator,
  body: Fields,
  path: string,
  faults: FaultLog,
): BestPrices {
  return {
    bidUsd: addSide(into, into.supportUsd, body, 'bids', path, faults),
    askUsd: addSide(into, into.resistanceUsd, body, 'asks', path, faults),
  };
}

/** Highest bid and lowest ask with a size, in USD; NaN if the side has none. */
export interface BestPrices {
  bidUsd: number;
  askUsd: number;
}

function addSide(
  into: LadderAccumulator,
  column: Float64Array,
  body: Fields,
  side: 'bids' | 'asks',
  path: string,
  faults: FaultLog,
): number {
  let bestUsd = NaN;
  const levels = readList(body, side, path, faults);
  if (levels === null) return bestUsd;
  const isBid = side === 'bids';
  for (let i = 0; i < levels.length; i++) {
    const level = levels[i];
    const problem = levelProblem(level);
    if (problem !== null) {
      faults.add(`${path}.${side}[${i}]`, problem);
      continue;
    }
    const priceUsd = (level as number[])[0];
    const size = (level as number[])[1];
    if (!(size > 0)) continue;
    into.addLevel(column, priceUsd, priceUsd * size);
    const isWorse = isBid ? priceUsd <= bestUsd : priceUsd >= bestUsd;
    if (!isWorse) bestUsd = priceUsd;
  }
  return bestUsd;
}

function levelProblem(level: unknown): string | null {
  if (!isTuple(level, 2)) return 'must be [price_usd, size]';
  const price = level[0];
  const size = level[1];
  if (typeof price !== 'number' || !POSITIVE.holds(price)) return 'price_usd must be a number > 0';
  if (typeof size !== 'number' || !NOT_NEGATIVE.holds(size)) return 'size must be a number >= 0';
  return null;
}
