/** An order book and the messages that change it. */
import { InputError } from '../errors.js';

/** Levels on one side of a book; a feed with more is refused. */
export const MAX_SIDE_LEVELS = 500_000;

/** Sizes by price. Sizes are totals: in a message, size 0 removes the level. */
export type Levels = Map<number, number>;

/** The prices and sizes of a book, best first. */
export interface SortedBook {
  bids: [number, number][];
  asks: [number, number][];
}

/** The changes of one message of a feed. */
export class BookMessage {
  /** `file:line` of the message, for faults; '' if it is of no file. */
  where = '';
  /** Whether the levels are the whole book. */
  reset = false;
  readonly bids: Levels = new Map();
  readonly asks: Levels = new Map();

  /** Starts the message of a whole book, without levels so far. */
  startOver(): void {
    this.clear();
    this.reset = true;
  }

  clear(): void {
    this.reset = false;
    this.bids.clear();
    this.asks.clear();
  }
}

/** A scan for each of so few levels costs less than to sort a side. */
const MOST_SCANS = 4;

/** An order book in the units of its feed. */
export class OrderBook {
  private readonly bids: Levels = new Map();
  private readonly asks: Levels = new Map();

  /** Throws an InputError if a side exceeds MAX_SIDE_LEVELS. */
  apply(message: BookMessage): void {
    if (message.reset) this.clear();
    change(this.bids, message.bids, message.where);
    change(this.asks, message.asks, message.where);
  }

  clear(): void {
    this.bids.clear();
    this.asks.clear();
  }

  /** Removes the worst levels of a side that holds more than `most`. */
  keepBest(most: number): void {
    for (const [side, sign] of [
      [this.bids, -1],
      [this.asks, 1],
    ] as const) {
      if (side.size > most + MOST_SCANS) {
        const ranks = Float64Array.from(side.keys(), (price) => sign * price).sort();
        for (const rank of ranks.subarray(most)) side.delete(sign * rank);
      }
      while (side.size > most) {
        let worst = -Infinity;
        for (const price of side.keys()) worst = Math.max(worst, sign * price);
        side.delete(sign * worst);
      }
    }
  }

  /** Removes the asks at or below a bid, or the bids at or above an ask. */
  removeCrossed(side: 'bids' | 'asks', price: number): void {
    const others = side === 'bids' ? this.asks : this.bids;
    for (const other of others.keys()) {
      if (side === 'bids' ? other <= price : other >= price) others.delete(other);
    }
  }

  get hasBothSides(): boolean {
    return this.bids.size > 0 && this.asks.size > 0;
  }

  sorted(): SortedBook {
    return { bids: ascending(this.bids).reverse(), asks: ascending(this.asks) };
  }
}

function change(side: Levels, levels: Levels, where: string): void {
  for (const [price, size] of levels) {
    if (size > 0) side.set(price, size);
    else side.delete(price);
  }
  if (side.size > MAX_SIDE_LEVELS) {
    const at = where === '' ? '' : `${where}: `;
    throw new InputError(`${at}a side of the book holds more than ${MAX_SIDE_LEVELS} levels`);
  }
}

/** A typed array sorts much faster than a list of pairs. */
function ascending(side: Levels): [number, number][] {
  const prices = new Float64Array(side.size);
  let i = 0;
  for (const price of side.keys()) prices[i++] = price;
  const levels: [number, number][] = [];
  for (const price of prices.sort()) levels.push([price, side.get(price)!]);
  return levels;
}
