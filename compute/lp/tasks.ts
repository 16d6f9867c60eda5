/** The LP tools' tasks as the pool runs them: their columns are moved to the caller. */
import { moved } from '../pool.js';
import { dlmmBoard as board, type DlmmBoard, type DlmmBoardInput } from './dlmm-board.js';
import {
  feeDensityBoards as density,
  type FeeDensityBoards,
  type FeeDensityInput,
} from './fee-density.js';
import { poolRanges as ranges, type PoolRanges, type PoolRangesInput } from './pool-range.js';
import { priceHours as prices, type HourPrices, type PriceHoursInput } from './price-range.js';

/** One base token's pools within the range of its price. */
export function poolRanges(input: PoolRangesInput): PoolRanges {
  return movedColumns(ranges(input));
}

/** A token's prices by hour. */
export function priceHours(input: PriceHoursInput): HourPrices {
  return movedColumns(prices(input));
}

/** The DLMM board of every period. */
export function dlmmBoard(input: DlmmBoardInput): DlmmBoard {
  return movedColumns(board(input));
}

/** The LP fee-density board of every window and denominator. */
export function feeDensityBoards(input: FeeDensityInput): FeeDensityBoards {
  return movedColumns(density(input));
}

function movedColumns<T extends object>(result: T): T {
  return moved(result, [...buffersIn(result)]);
}

/** The buffers of the columns that plain objects hold. */
function buffersIn(value: unknown, found = new Set<ArrayBuffer>()): Set<ArrayBuffer> {
  if (ArrayBuffer.isView(value)) found.add(value.buffer as ArrayBuffer);
  else if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) buffersIn(inner, found);
  }
  return found;
}
