/** Makes snapshots of an order book at the moments of an import. */
import { isStorable, STORABLE } from '../../compute/ingest/fields.js';
import type { Market } from '../../compute/market.js';
import type { TokenName } from '../contract.js';
import { InputError } from '../errors.js';
import { checkContracts } from './contracts.js';
import type { ImportOptions, TokenImport } from './formats.js';
import { type BookMessage, OrderBook, type SortedBook } from './order-book.js';
import { NothingImportedError } from './refusals.js';

const US_PER_S = 1_000_000;
/** If a feed starts over after a longer silence, it counts as interrupted. */
const MAX_RECONNECT_SILENCE_US = 60 * US_PER_S;
/** A book without messages for longer than this is not continued. */
const MAX_CARRIED_US = 86_400 * US_PER_S;

/** The market whose book an import writes. */
export type BookMarket = Pick<Market, 'source' | 'type'> & { pair: string };

/** What the prices and sizes of a book mean. */
type BookUnits = Pick<ImportOptions, 'quoteUsd' | 'contractUsd' | 'contractSize'>;

/** A book as the body of a market: prices in USD, sizes in coins. */
export function bookBody({ bids, asks }: SortedBook, units: BookUnits): SortedBook {
  const { quoteUsd, contractUsd, contractSize = 1 } = units;
  const level =
    contractUsd === undefined
      ? ([price, size]: [number, number]): [number, number] => [
          price * quoteUsd,
          size * contractSize,
        ]
      : ([price, contracts]: [number, number]): [number, number] => {
          const priceUsd = price * quoteUsd;
          return [priceUsd, (contracts * contractUsd) / priceUsd];
        };
  return { bids: bids.map(level), asks: asks.map(level) };
}

/** One row of the dataset `snapshots`: the book at moment `t` (epoch seconds) as one market. */
function snapshotOfBook(
  sorted: SortedBook,
  t: number,
  token: TokenName,
  market: BookMarket,
  options: BookUnits,
): object {
  return {
    chain: token.chain,
    address: token.address,
    t,
    tier: 'raw',
    price_usd: ((sorted.bids[0][0] + sorted.asks[0][0]) / 2) * options.quoteUsd,
    markets: [
      {
        source: market.source,
        exchange_type: 'CEX',
        type: market.type,
        address: null,
        pair: market.pair,
        book: bookBody(sorted, options),
      },
    ],
  };
}

/**
 * Turns the messages of one order book into snapshots at every multiple of `everyS` of the feed's time, each with the
 * state after the last message up to that moment. The feed's time is the greatest time of its messages so far. Times
 * are epoch microseconds.
 */
export class BookSampler {
  readonly book = new OrderBook();
  /** Whether the messages so far make a whole book. */
  isWhole = false;
  /** The greatest time of a message so far, 0 before the first. */
  timeUs = 0;
  private firstUs = 0;
  /** When the book was first whole, with levels on both sides; null if it never was. */
  private firstWholeUs: number | null = null;
  /** Whether it was ever whole. */
  private wasWhole = false;
  private written = 0;
  /** The next moment to write. */
  private nextUs = 0;
  private readonly everyUs: number;
  private market: BookMarket | null = null;

  constructor(private readonly request: TokenImport) {
    this.everyUs = request.options.everyS * US_PER_S;
  }

  /**
   * Names the market; options override what the feed states.
   * @param where the message that names the market
   * @throws InputError if its sizes are contracts and no option states their worth, or its names cannot be stored
   */
  nameMarket(fromFeed: BookMarket, where: string): void {
    checkContracts(where, fromFeed, this.request.options);
    for (const field of ['source', 'pair'] as const) {
      if (!isStorable(fromFeed[field])) throw new InputError(`${where}: ${field}: ${STORABLE}`);
    }
    const { source, pair, type } = this.request.options;
    this.market = {
      source: source ?? fromFeed.source,
      pair: pair ?? fromFeed.pair,
      type: type ?? fromFeed.type,
    };
  }

  /** Whether a moment to write is before a message at `us`. */
  isDue(us: number): boolean {
    return this.isWhole && this.timeUs > 0 && this.nextUs < us;
  }

  /**
   * The snapshots of the moments before a message at `us`; call it before applying the message. If the feed turns out to
   * have been interrupted since the previous message, only the moment of that one is left.
   */
  *before(us: number, message?: BookMessage): Generator<object, void, undefined> {
    if (!this.isDue(us)) return;
    const silenceUs = us - this.timeUs;
    if (silenceUs > MAX_CARRIED_US) {
      yield* this.breakOff('more than a day without a message', us);
    } else if (message?.reset === true && silenceUs > MAX_RECONNECT_SILENCE_US) {
      const seconds = Math.round(silenceUs / US_PER_S);
      yield* this.breakOff(`the feed starts over after ${seconds} s without a message`, us);
    } else {
      yield* this.write(us);
    }
  }

  /** The snapshots of the moments before `us` with the book as it is. */
  private *write(us: number): Generator<object, void, undefined> {
    if (!this.isDue(us) || !this.book.hasBothSides || this.market === null) return;
    const book = this.book.sorted();
    const isCrossed = book.bids[0][0] >= book.asks[0][0];
    for (; this.nextUs < us; this.nextUs += this.everyUs) {
      const t = this.nextUs / US_PER_S;
      if (isCrossed) {
        this.request.report.crossed.add({ t, reason: 'the best bid is not below the best ask' });
      }
      this.written++;
      yield snapshotOfBook(book, t, this.request.token, this.market, this.request.options);
    }
  }

  /** Applies a message at `us`; a message that starts over makes the book whole. */
  apply(message: BookMessage, us: number): void {
    if (us < this.timeUs)
      this.request.report.outOfOrder.add(this.note('a time before the last', us));
    this.advance(us);
    if (message.reset) [this.isWhole, this.wasWhole] = [true, true];
    if (!this.isWhole) {
      this.request.report.oldMessages++;
      return;
    }
    const hadBothSides = this.book.hasBothSides;
    this.book.apply(message);
    if (this.book.hasBothSides) this.firstWholeUs ??= this.timeUs;
    if (hadBothSides && !this.book.hasBothSides) {
      this.request.report.gaps.add(this.note('a side of the book is empty'));
    }
  }

  /**
   * Discards the book after a break in the feed, from the last message until the book is whole again. If that message
   * has the time of a moment, its snapshot comes first.
   * @param us time of the message that shows the break
   */
  *breakOff(reason: string, us: number): Generator<object, void, undefined> {
    yield* this.write(Math.min(us, this.timeUs + 1));
    this.request.report.gaps.add(this.note(reason));
    this.isWhole = false;
    this.book.clear();
  }

  /**
   * The snapshots up to the feed's last message.
   * @param noBook the reason if the book was never whole
   * @param lastUs time of the feed's last message of any kind
   * @throws NothingImportedError if there was no snapshot
   */
  *finish(noBook: string, lastUs = 0): Generator<object, void, undefined> {
    const endUs = Math.max(lastUs, this.timeUs);
    yield* this.before(endUs + 1);
    if (this.written === 0) throw this.nothing(noBook, endUs);
  }

  private nothing(noBook: string, endUs: number): NothingImportedError {
    const { firstWholeUs, request } = this;
    const { report } = request;
    const { everyS } = request.options;
    if (!this.wasWhole) {
      const of = report.messages > 1 ? ` (of ${report.messages} messages)` : '';
      return new NothingImportedError(noBook + of, report);
    }
    const [gap] = report.gaps.first;
    if (gap !== undefined) {
      return new NothingImportedError(
        `the feed breaks off before any snapshot: ${gap.reason}`,
        report,
      );
    }
    if (firstWholeUs === null) {
      return new NothingImportedError('the book never has levels on both sides', report);
    }
    if (this.timeUs === 0) {
      return new NothingImportedError('no depth update follows the depth snapshot', report);
    }
    // A snapshot without a time precedes the first message with one.
    const fromUs = firstWholeUs === 0 ? this.firstUs : firstWholeUs;
    const [from, to] = [fromUs, endUs].map((us) => new Date(us / 1000).toISOString());
    const wholeS = Number(((endUs - fromUs) / US_PER_S).toFixed(3));
    const cause =
      `the book is whole for ${wholeS} s (${from} to ${to}), ` +
      `which holds no multiple of the ${everyS} s between snapshots`;
    const advice = everyS > 1 ? ': give a shorter --every' : '';
    return new NothingImportedError(cause + advice, report);
  }

  private advance(us: number): void {
    if (this.firstUs === 0) this.firstUs = us;
    this.timeUs = Math.max(this.timeUs, us);
    const intoStep = this.timeUs % this.everyUs;
    const moment = intoStep === 0 ? this.timeUs : this.timeUs - intoStep + this.everyUs;
    this.nextUs = Math.max(this.nextUs, moment);
  }

  private note(reason: string, us = this.timeUs) {
    return { t: us === 0 ? null : us / US_PER_S, reason };
  }
}
