/** An order book and the messages that change it. */
import { firstFrom } from '../../compute/search.js';
import { InputError } from '../errors.js';
import { widened } from '../typed-arrays.js';

/** Levels on one side of a book; a feed with more is refused. */
export const MAX_SIDE_LEVELS = 500_000;
/** From this many levels on, one sort merges them instead of an insertion each. */
const MERGE_FROM_LEVELS = 1_000;
const FIRST_CAPACITY = 256;

/** Prices with their sizes in order of arrival; keeps its memory when cleared. */
export class LevelList {
  prices = new Float64Array(FIRST_CAPACITY);
  sizes = new Float64Array(FIRST_CAPACITY);
  length = 0;

  push(price: number, size: number): void {
    if (this.length === this.prices.length) {
      this.prices = widened(this.prices, 2 * this.length);
      this.sizes = widened(this.sizes, 2 * this.length);
    }
    this.prices[this.length] = price;
    this.sizes[this.length++] = size;
  }

  clear(): void {
    this.length = 0;
  }
}

/**
 * One side of an order book: the size at each price, from the worst price to the best, because most changes are near
 * the best. Sizes are totals: size 0 removes the level.
 */
class BookSide {
  /** Prices, negative on the ask side: both sides ascend towards the best. */
  private keys = new Float64Array(FIRST_CAPACITY);
  private sizes = new Float64Array(FIRST_CAPACITY);
  length = 0;

  /** @param sign 1 for bids (the highest is best), -1 for asks */
  constructor(private readonly sign: 1 | -1) {}

  /** The best price; NaN if the side is empty. */
  get best(): number {
    return this.length === 0 ? NaN : this.keys[this.length - 1] * this.sign;
  }

  clear(): void {
    this.length = 0;
  }

  /** Applies the levels in order. Throws a RangeError beyond MAX_SIDE_LEVELS levels. */
  apply(levels: LevelList): void {
    if (levels.length > MERGE_FROM_LEVELS) this.merge(levels);
    else for (let i = 0; i < levels.length; i++) this.set(levels.prices[i], levels.sizes[i]);
    if (this.length > MAX_SIDE_LEVELS) {
      throw new RangeError(`a side of the book holds more than ${MAX_SIDE_LEVELS} levels`);
    }
  }

  /** The levels, best first, each converted by `level`. */
  map<T>(level: (price: number, size: number) => T): T[] {
    const last = this.length - 1;
    return Array.from({ length: this.length }, (_, i) =>
      level(this.keys[last - i] * this.sign, this.sizes[last - i]),
    );
  }

  private set(price: number, size: number): void {
    const key = price * this.sign;
    const at = this.positionOf(key);
    const known = at < this.length && this.keys[at] === key;
    if (known && size > 0) {
      this.sizes[at] = size;
    } else if (known) {
      this.keys.copyWithin(at, at + 1, this.length);
      this.sizes.copyWithin(at, at + 1, this.length);
      this.length--;
    } else if (size > 0) {
      this.reserve(this.length + 1);
      this.keys.copyWithin(at + 1, at, this.length);
      this.sizes.copyWithin(at + 1, at, this.length);
      this.keys[at] = key;
      this.sizes[at] = size;
      this.length++;
    }
  }

  private merge(levels: LevelList): void {
    const sizeByKey = new Map<number, number>();
    for (let i = 0; i < this.length; i++) sizeByKey.set(this.keys[i], this.sizes[i]);
    for (let i = 0; i < levels.length; i++) {
      sizeByKey.set(levels.prices[i] * this.sign, levels.sizes[i]);
    }
    const keys = Float64Array.from(sizeByKey.keys()).sort();
    this.reserve(keys.length);
    this.length = 0;
    for (const key of keys) {
      const size = sizeByKey.get(key)!;
      if (size === 0) continue;
      this.keys[this.length] = key;
      this.sizes[this.length++] = size;
    }
  }

  private reserve(count: number): void {
    let { length } = this.keys;
    if (count <= length) return;
    while (count > length) length *= 2;
    this.keys = widened(this.keys, length);
    this.sizes = widened(this.sizes, length);
  }

  /** Index of the first key that is not below `key`. */
  private positionOf(key: number): number {
    return firstFrom(this.keys, key, 0, this.length);
  }
}

/** The changes of one message of a feed. */
export class BookMessage {
  /** `file:line` of the message, for faults. */
  where = '';
  /** Whether the levels are the whole book. */
  reset = false;
  readonly bids = new LevelList();
  readonly asks = new LevelList();

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

/** An order book in the units of its feed. */
export class OrderBook {
  readonly bids = new BookSide(1);
  readonly asks = new BookSide(-1);

  /** Throws an InputError if a side exceeds its limit. */
  apply(message: BookMessage): void {
    if (message.reset) this.clear();
    try {
      this.bids.apply(message.bids);
      this.asks.apply(message.asks);
    } catch (error) {
      if (error instanceof RangeError) throw new InputError(`${message.where}: ${error.message}`);
      throw error;
    }
  }

  clear(): void {
    this.bids.clear();
    this.asks.clear();
  }

  get hasBothSides(): boolean {
    return this.bids.length > 0 && this.asks.length > 0;
  }

  get isCrossed(): boolean {
    return this.bids.best >= this.asks.best;
  }
}
