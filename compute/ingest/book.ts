/** Order books as depth. */
import type { LadderAccumulator } from './accumulator.js';
import { type FaultLog, type Fields, NOT_NEGATIVE, POSITIVE } from './fields.js';
import type { NumberList, NumberLists } from './number-lists.js';

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
  lists: NumberLists,
): BestPrices {
  return {
    bidUsd: addSide(into, 'bids', lists.read(body, 'bids', path, faults), path, faults),
    askUsd: addSide(into, 'asks', lists.read(body, 'asks', path, faults), path, faults),
  };
}

/** Highest bid and lowest ask with a size, in USD; NaN if the side has none. */
export interface BestPrices {
  bidUsd: number;
  askUsd: number;
}

function addSide(
  into: LadderAccumulator,
  side: 'bids' | 'asks',
  levels: NumberList | null,
  path: string,
  faults: FaultLog,
): number {
  let bestUsd = NaN;
  if (levels === null) return bestUsd;
  const { values, start, length } = levels;
  const isBid = side === 'bids';
  const column = isBid ? into.supportUsd : into.resistanceUsd;
  for (let i = 0, at = start; i < length; i++, at += 2) {
    const priceUsd = values[at];
    const size = values[at + 1];
    if (!(POSITIVE.holds(priceUsd) && NOT_NEGATIVE.holds(size))) {
      faults.add(`${path}.${side}[${i}]`, levelProblem(levels, i, priceUsd));
      continue;
    }
    if (size === 0) continue;
    into.addLevel(column, priceUsd, priceUsd * size);
    const isWorse = isBid ? priceUsd <= bestUsd : priceUsd >= bestUsd;
    if (!isWorse) bestUsd = priceUsd;
  }
  return bestUsd;
}

function levelProblem({ broken }: NumberList, i: number, priceUsd: number): string {
  if (broken?.has(i)) return 'must be [price_usd, size]';
  return POSITIVE.holds(priceUsd) ? 'size must be a number >= 0' : 'price_usd must be a number > 0';
}
