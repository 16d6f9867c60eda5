/** One order book, kept whole by its exchange's rules of sequence and checksum. */
import { BookMessage, type OrderBook, type SortedBook } from '../storage/import/order-book.js';
import { following } from '../storage/import/sequence.js';
import { WaitingUpdates } from '../storage/import/waiting-updates.js';
import type { BookTexts, Checksum } from './checksums.js';
import type { BookUpdate, Side } from './messages.js';

/** Levels of updates that wait for a snapshot; beyond that the oldest go, and the snapshot will not fit. */
const MAX_WAITING_LEVELS = 200_000;

/** What an exchange guarantees about its updates. */
export interface BookRules {
  /**
   * numbered: updates follow each other by number. later: those up to the snapshot's number are old, and nothing shows a
   * missing one. whole: each message is the whole book. none: nothing shows a missing one.
   */
  readonly sequence: 'numbered' | 'later' | 'whole' | 'none';
  readonly checksum?: Checksum;
  /** The exchange does not say when a level leaves the best ones of this number. */
  readonly depth?: number;
  /** Whether the book comes by REST: updates wait for it. */
  readonly hasRest?: boolean;
  /** Whether a new level may cross old ones, which are then gone. */
  readonly uncrosses?: boolean;
}

/** Whether anything shows that an update is missing. */
export const isVerifiable = ({ sequence, checksum }: BookRules): boolean =>
  sequence === 'numbered' || sequence === 'whole' || checksum !== undefined;

/** Takes a book's messages in order. The book itself is changed through `change`, and not while it is not whole. */
export class FeedBook {
  isWhole = false;
  /** Updates that the book already included, or that came while nothing could use them. */
  oldUpdates = 0;
  private lastId = 0;
  /** Whether no update has followed the snapshot yet. */
  private isFresh = false;
  private checksum: number | null = null;
  private readonly waiting = new WaitingUpdates(
    MAX_WAITING_LEVELS,
    ({ bids, asks }: BookUpdate) => 1 + bids.levels.size + asks.levels.size,
  );
  private readonly texts: BookTexts = { bids: new Map(), asks: new Map() };
  private readonly message = new BookMessage();

  /**
   * @param book the levels
   * @param change applies a message to `book`
   */
  constructor(
    private readonly rules: BookRules,
    private readonly book: OrderBook,
    private readonly change: (message: BookMessage, update: BookUpdate) => void,
  ) {}

  /**
   * @returns null, or why the book is lost: the caller clears it, and it needs a new snapshot
   * @throws what `change` throws, as for a book of too many levels: it is lost likewise
   */
  take(update: BookUpdate): string | null {
    try {
      return this.tryTake(update);
    } catch (error) {
      this.lose();
      throw error;
    }
  }

  private tryTake(update: BookUpdate): string | null {
    if (update.reset) return this.startOver(update);
    if (!this.isWhole) {
      this.hold(update);
      return null;
    }
    switch (this.follows(update)) {
      case 'old':
        this.oldUpdates++;
        return null;
      case 'next':
        this.apply(update);
        return null;
      case 'gap': {
        const { number } = update;
        const reason = `update ${number?.previousId ?? number?.firstId ?? number?.lastId} does not follow ${this.lastId}`;
        this.lose();
        this.hold(update);
        return reason;
      }
    }
  }

  /**
   * Compares the book with the exchange's checksum.
   * @param sorted the book, where it is at hand
   * @returns null, or why the book is lost
   */
  verify(sorted?: SortedBook): string | null {
    if (!this.isWhole || this.rules.checksum === undefined) return null;
    return this.compare(sorted ?? this.book.sorted(), this.rules.checksum);
  }

  private compare(sorted: SortedBook, sumOf: Checksum): string | null {
    const { checksum } = this;
    for (const side of ['bids', 'asks'] as const) forgetTexts(this.texts[side], sorted[side]);
    if (checksum === null || sumOf(sorted, this.texts) === checksum) return null;
    this.lose();
    return 'the checksum does not match';
  }

  /** Forgets that the book is whole, and the updates that wait. */
  lose(): void {
    this.isWhole = false;
    this.checksum = null;
    this.waiting.take();
    this.texts.bids.clear();
    this.texts.asks.clear();
  }

  private follows({ number }: BookUpdate): 'next' | 'old' | 'gap' {
    const { sequence } = this.rules;
    if (number === null || sequence === 'none' || sequence === 'whole') return 'next';
    if (sequence === 'numbered') return following(number, this.lastId, this.isFresh);
    return this.isFresh && number.lastId <= this.lastId ? 'old' : 'next';
  }

  private startOver(update: BookUpdate): string | null {
    const lastId = update.number?.lastId ?? 0;
    if (this.isWhole && this.rules.hasRest === true && lastId < this.lastId) {
      this.oldUpdates++;
      return null;
    }
    const firstId = this.waiting.first?.number?.lastId;
    if (this.rules.sequence === 'later' && firstId !== undefined && lastId < firstId) {
      return `the book of ${lastId} is older than the first update ${firstId}`;
    }
    this.texts.bids.clear();
    this.texts.asks.clear();
    this.apply(update);
    this.isWhole = true;
    this.isFresh = true;
    this.lastId = lastId;
    const waiting = this.waiting.take();
    for (const [i, held] of waiting.entries()) {
      const reason = this.take(held);
      if (reason === null) continue;
      // The next snapshot may fit the rest.
      for (const later of waiting.slice(i + 1)) this.hold(later);
      return reason;
    }
    return null;
  }

  private apply(update: BookUpdate): void {
    const { message, rules, book } = this;
    const depth = update.depth ?? rules.depth;
    message.clear();
    message.reset = update.reset;
    for (const side of ['bids', 'asks'] as const) {
      for (const [price, size] of update[side].levels) message[side].set(price, size);
      keepTexts(this.texts[side], update[side]);
    }
    this.change(message, update);
    if (rules.uncrosses === true && !update.reset) this.uncross(update);
    if (depth !== undefined) book.keepBest(depth);
    if (update.number !== null) this.lastId = update.number.lastId;
    this.isFresh = false;
    this.checksum = update.checksum;
  }

  private uncross(update: BookUpdate): void {
    for (const side of ['bids', 'asks'] as const) {
      for (const [price, size] of update[side].levels) {
        if (size > 0) this.book.removeCrossed(side, price);
      }
    }
  }

  /** Keeps an update for the next snapshot. */
  private hold(update: BookUpdate): void {
    this.oldUpdates += this.rules.hasRest === true ? this.waiting.add(update) : 1;
  }
}

function keepTexts(known: Map<number, string>, { levels, texts }: Side): void {
  if (texts === null) return;
  for (const [price, text] of texts) {
    if (levels.get(price)! > 0) known.set(price, text);
    else known.delete(price);
  }
}

/** Forgets the texts of levels that have left the book's depth. */
function forgetTexts(known: Map<number, string>, levels: readonly (readonly [number, number])[]) {
  if (known.size === levels.length) return;
  const kept = new Set(levels.map(([price]) => price));
  for (const price of known.keys()) if (!kept.has(price)) known.delete(price);
}
