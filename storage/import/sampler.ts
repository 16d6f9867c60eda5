import { OrderBook, snapshotOfBook, type BookMarket, type BookMessage } from './book.js';
import type { ImportOptions, ImportToken } from './options.js';
import type { ImportReport } from './report.js';

const US_PER_S = 1_000_000;
/** A feed that starts over after more silence than this was cut off in between. */
const MAX_RECONNECT_SILENCE_US = 60 * US_PER_S;
/** A book without any message for longer than this is not carried on. */
const MAX_CARRIED_US = 86_400 * US_PER_S;

/**
 * Turns the messages of one order book into snapshots at every multiple of `everyS` of the feed's
 * own time: each the state after the last message at or before that moment. Where messages come out
 * of order, the feed's time is the greatest so far. Times are epoch microseconds.
 */
export class BookSampler {
  private readonly book = new OrderBook();
  /** The messages so far make a whole book. */
  private whole = false;
  private feedUs = 0;
  /** The next moment to write. */
  private nextUs = 0;
  private readonly everyUs: number;
  /** Named by the feed's first message. */
  private market: BookMarket | null = null;

  constructor(
    private readonly token: ImportToken,
    private readonly options: ImportOptions,
    private readonly report: ImportReport,
  ) {
    this.everyUs = options.everyS * US_PER_S;
  }

  /** Names the market; flags override what the feed says of itself. */
  nameMarket(fromFeed: BookMarket): void {
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

  /** Whether a message at `us` finds a moment to write before it. */
  isDue(us: number): boolean {
    return this.whole && this.feedUs > 0 && this.nextUs < us;
  }

  /**
   * The snapshots of the moments before a message at `us`, to be taken before it is applied. None
   * where the message shows that the feed was cut off since the one before.
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

  /** The feed broke: the book is not used, for any moment since the last message, until whole. */
  breakOff(reason: string): void {
    this.report.gaps.add(this.note(reason));
    this.whole = false;
    this.book.clear();
  }

  /** The snapshots of the moments up to the feed's last message, which may be another's than ours. */
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
