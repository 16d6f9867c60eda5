/** An order book, the messages that change it, and the sampler that makes snapshots of it. */
import type { Market } from '../../compute/market.js';
import { InputError } from '../errors.js';
import { checkContracts } from './contracts.js';
import type { ImportOptions, ImportReport, ImportToken } from './formats.js';

/** Levels on one side of a book; a feed with more is refused. */
export const MAX_SIDE_LEVELS = 500_000;
/** More levels than this are merged by one sort instead of an insertion each. */
const MERGE_FROM_LEVELS = 1_000;
const FIRST_CAPACITY = 256;

const US_PER_S = 1_000_000;
/** After a longer silence a feed that starts over counts as having been cut off. */
const MAX_RECONNECT_SILENCE_US = 60 * US_PER_S;
/** A book without messages for longer than this is not continued. */
const MAX_CARRIED_US = 86_400 * US_PER_S;

/** The market whose book an import writes. */
export type BookMarket = Pick<Market, 'source' | 'type'> & { pair: string };

/** Prices with their sizes in order of arrival; keeps its memory when cleared. */
export class LevelList {
  prices = new Float64Array(FIRST_CAPACITY);
  sizes = new Float64Array(FIRST_CAPACITY);
  length = 0;

  push(price: number, size: number): void {
    if (this.length === this.prices.length) {
      this.prices = grown(this.prices);
      this.sizes = grown(this.sizes);
    }
    this.prices[this.length] = price;
    this.sizes[this.length++] = size;
  }

  clear(): void {
    this.length = 0;
  }
}

function grown(column: Float64Array): Float64Array<ArrayBuffer> {
  const wider = new Float64Array(column.length * 2);
  wider.set(column);
  return wider;
}

/**
 * One side of an order book: the size at each price, from the worst price to the best, since most
 * changes are near the best. Sizes are totals: size 0 removes the level.
 */
class BookSide {
  /** Prices, negative on the ask side, so that both sides ascend towards the best. */
  private keys = new Float64Array(FIRST_CAPACITY);
  private sizes = new Float64Array(FIRST_CAPACITY);
  private count = 0;

  /** @param sign 1 for bids (the highest is best), -1 for asks */
  constructor(private readonly sign: 1 | -1) {}

  get length(): number {
    return this.count;
  }

  /** The best price; NaN where the side is empty. */
  get best(): number {
    return this.count === 0 ? NaN : this.keys[this.count - 1] * this.sign;
  }

  clear(): void {
    this.count = 0;
  }

  /** Applies the levels in their order. Throws a RangeError beyond MAX_SIDE_LEVELS levels. */
  apply(levels: LevelList): void {
    if (levels.length > MERGE_FROM_LEVELS) this.merge(levels);
    else for (let i = 0; i < levels.length; i++) this.set(levels.prices[i], levels.sizes[i]);
    if (this.count > MAX_SIDE_LEVELS) {
      throw new RangeError(`a side of the book holds more than ${MAX_SIDE_LEVELS} levels`);
    }
  }

  /** The levels best first, each as `level` makes it. */
  map<T>(level: (price: number, size: number) => T): T[] {
    const last = this.count - 1;
    return Array.from({ length: this.count }, (_, i) =>
      level(this.keys[last - i] * this.sign, this.sizes[last - i]),
    );
  }

  private set(price: number, size: number): void {
    const key = price * this.sign;
    const at = this.positionOf(key);
    const known = at < this.count && this.keys[at] === key;
    if (known && size > 0) {
      this.sizes[at] = size;
    } else if (known) {
      this.keys.copyWithin(at, at + 1, this.count);
      this.sizes.copyWithin(at, at + 1, this.count);
      this.count--;
    } else if (size > 0) {
      this.reserve(this.count + 1);
      this.keys.copyWithin(at + 1, at, this.count);
      this.sizes.copyWithin(at + 1, at, this.count);
      this.keys[at] = key;
      this.sizes[at] = size;
      this.count++;
    }
  }

  private merge(levels: LevelList): void {
    const sizeByKey = new Map<number, number>();
    for (let i = 0; i < this.count; i++) sizeByKey.set(this.keys[i], this.sizes[i]);
    for (let i = 0; i < levels.length; i++) {
      sizeByKey.set(levels.prices[i] * this.sign, levels.sizes[i]);
    }
    const keys = Float64Array.from(sizeByKey.keys()).sort();
    this.reserve(keys.length);
    this.count = 0;
    for (const key of keys) {
      const size = sizeByKey.get(key)!;
      if (size === 0) continue;
      this.keys[this.count] = key;
      this.sizes[this.count++] = size;
    }
  }

  private reserve(count: number): void {
    while (count > this.keys.length) {
      this.keys = grown(this.keys);
      this.sizes = grown(this.sizes);
    }
  }

  /** Index of the first key that is not below `key`. */
  private positionOf(key: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.keys[middle] < key) low = middle + 1;
      else high = middle;
    }
    return low;
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

  /** Makes this the message of a whole book, without levels so far. */
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
class OrderBook {
  readonly bids = new BookSide(1);
  readonly asks = new BookSide(-1);

  /** Throws an InputError where a side grows beyond its limit. */
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

/** One row of the dataset `snapshots`: the book at moment `t` (epoch seconds) as one market. */
function snapshotOfBook(
  book: OrderBook,
  t: number,
  token: ImportToken,
  market: BookMarket,
  options: Pick<ImportOptions, 'quoteUsd' | 'contractUsd' | 'contractSize'>,
): object {
  const { quoteUsd, contractUsd, contractSize = 1 } = options;
  const level =
    contractUsd === undefined
      ? (price: number, size: number) => [price * quoteUsd, size * contractSize]
      : (price: number, contracts: number) => {
          const priceUsd = price * quoteUsd;
          return [priceUsd, (contracts * contractUsd) / priceUsd];
        };
  return {
    chain: token.chain,
    address: token.address,
    t,
    tier: 'raw',
    price_usd: ((book.bids.best + book.asks.best) / 2) * quoteUsd,
    markets: [
      {
        source: market.source,
        exchange_type: 'CEX',
        type: market.type,
        address: null,
        pair: market.pair,
        book: { bids: book.bids.map(level), asks: book.asks.map(level) },
      },
    ],
  };
}

/**
 * Turns the messages of one order book into snapshots at every multiple of `everyS` of the feed's
 * time: the state after the last message at or before that moment. The feed's time is the greatest
 * of its messages so far. Times are epoch microseconds.
 */
export class BookSampler {
  private readonly book = new OrderBook();
  /** The messages so far make a whole book. */
  private whole = false;
  private feedUs = 0;
  /** The next moment to write. */
  private nextUs = 0;
  private readonly everyUs: number;
  private market: BookMarket | null = null;

  constructor(
    private readonly token: ImportToken,
    private readonly options: ImportOptions,
    private readonly report: ImportReport,
  ) {
    this.everyUs = options.everyS * US_PER_S;
  }

  /**
   * Names the market; options override what the feed says of itself.
   * @param where the message that names it
   * @throws OptionNeededError where its sizes are contracts and no option says of what
   */
  nameMarket(fromFeed: BookMarket, where: string): void {
    checkContracts(where, fromFeed, this.options);
    const { source, pair, type } = this.options;
    this.market = {
      source: source ?? fromFeed.source,
      pair: pair ?? fromFeed.pair,
      type: type ?? fromFeed.type,
    };
  }

  get isWhole(): boolean {
    return this.whole;
  }

  /** The greatest time of a message so far, 0 before the first. */
  get timeUs(): number {
    return this.feedUs;
  }

  /** Whether a moment to write lies before a message at `us`. */
  isDue(us: number): boolean {
    return this.whole && this.feedUs > 0 && this.nextUs < us;
  }

  /**
   * The snapshots of the moments before a message at `us`; call it before applying the message. None
   * where the feed turns out to have been cut off since the message before.
   */
  *before(us: number, message?: BookMessage): Generator<object, void, undefined> {
    if (!this.isDue(us)) return;
    const silenceUs = us - this.feedUs;
    if (silenceUs > MAX_CARRIED_US) {
      this.breakOff('more than a day without a message');
    } else if (message?.reset === true && silenceUs > MAX_RECONNECT_SILENCE_US) {
      const seconds = Math.round(silenceUs / US_PER_S);
      this.breakOff(`the feed starts over after ${seconds} s without a message`);
    }
    if (!this.whole || !this.book.hasBothSides || this.market === null) return;
    for (; this.nextUs < us; this.nextUs += this.everyUs) {
      const t = this.nextUs / US_PER_S;
      if (this.book.isCrossed) {
        this.report.crossed.add({ t, reason: 'the best bid is not below the best ask' });
      }
      yield snapshotOfBook(this.book, t, this.token, this.market, this.options);
    }
  }

  /** Applies a message at `us`; a message that starts over makes the book whole. */
  apply(message: BookMessage, us: number): void {
    if (us < this.feedUs) this.report.outOfOrder.add(this.note('a time before the last', us));
    this.advance(us);
    if (message.reset) this.whole = true;
    if (!this.whole) {
      this.report.oldMessages++;
      return;
    }
    const hadBothSides = this.book.hasBothSides;
    this.book.apply(message);
    if (hadBothSides && !this.book.hasBothSides) {
      this.report.gaps.add(this.note('a side of the book is empty'));
    }
  }

  /** Discards the book after a break in the feed, from the last message until it is whole again. */
  breakOff(reason: string): void {
    this.report.gaps.add(this.note(reason));
    this.whole = false;
    this.book.clear();
  }

  /** The snapshots up to the feed's last message. @param lastUs time of its last of any kind */
  *finish(lastUs = 0): Generator<object, void, undefined> {
    yield* this.before(Math.max(lastUs, this.feedUs) + 1);
  }

  private advance(us: number): void {
    this.feedUs = Math.max(this.feedUs, us);
    const intoStep = this.feedUs % this.everyUs;
    const moment = intoStep === 0 ? this.feedUs : this.feedUs - intoStep + this.everyUs;
    this.nextUs = Math.max(this.nextUs, moment);
  }

  private note(reason: string, us = this.feedUs) {
    return { t: us === 0 ? null : us / US_PER_S, reason };
  }
}
