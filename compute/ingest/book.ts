import type { LadderAccumulator } from './accumulator.js';
import type { FaultLog } from './faults.js';
import { isTuple, readList, type Fields } from './fields.js';
import { NumberList } from './number-list.js';

/**
 * Adds a `book` body: a bid's `price * size` to support at its bin, an ask's to resistance. Read
 * and binned in one pass: books are the bulk of what collectors send.
 */
export function addBook(
  into: LadderAccumulator,
  body: Fields,
  path: string,
  faults: FaultLog,
): void {
  addSide(into, into.supportUsd, body, 'bids', path, faults);
  addSide(into, into.resistanceUsd, body, 'asks', path, faults);
}

function addSide(
  into: LadderAccumulator,
  column: Float64Array,
  body: Fields,
  side: 'bids' | 'asks',
  path: string,
  faults: FaultLog,
): void {
  const given = body[side];
  if (given instanceof NumberList) {
    addLevels(into, column, given, `${path}.${side}`, faults);
    return;
  }
  const levels = readList(body, side, path, faults);
  if (levels === null) return;
  for (let i = 0; i < levels.length; i++) {
    const level = levels[i];
    const problem = levelProblem(level);
    if (problem !== null) {
      faults.add(`${path}.${side}[${i}]`, problem);
      continue;
    }
    const priceUsd = (level as number[])[0];
    const size = (level as number[])[1];
    if (size > 0) into.addLevel(column, priceUsd, priceUsd * size);
  }
}

function addLevels(
  into: LadderAccumulator,
  column: Float64Array,
  { values, from, length }: NumberList,
  path: string,
  faults: FaultLog,
): void {
  for (let i = 0; i < length; i++) {
    const priceUsd = values[from + 2 * i];
    const size = values[from + 2 * i + 1];
    const problem = problemOfNumbers(priceUsd, size);
    if (problem !== null) faults.add(`${path}[${i}]`, problem);
    else if (size > 0) into.addLevel(column, priceUsd, priceUsd * size);
  }
}

function levelProblem(level: unknown): string | null {
  if (!isTuple(level, 2)) return 'must be [price_usd, size]';
  return problemOfNumbers(numberOrNaN(level[0]), numberOrNaN(level[1]));
}

const numberOrNaN = (value: unknown): number => (typeof value === 'number' ? value : NaN);

function problemOfNumbers(price: number, size: number): string | null {
  if (!(price > 0 && price < Infinity)) return 'price_usd must be a number > 0';
  if (!(size >= 0 && size < Infinity)) return 'size must be a number >= 0';
  return null;
}
