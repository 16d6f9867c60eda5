/** A book that is asked for by REST at every interval. */
import { messageOf } from '../storage/errors.js';
import { BookMessage, OrderBook } from '../storage/import/order-book.js';
import { sampleOfBook } from './book-sample.js';
import type { BookType } from './exchange.js';
import { type ExchangeMarket, urlAt } from './exchange-market.js';
import {
  type Missing,
  type Sample,
  sampleTimeoutMs,
  type Source,
  type SourceContext,
} from './source.js';
import { withTimeout } from './timeout.js';

export class PollSource implements Source {
  readonly name: string;
  readonly venue: string;
  readonly exchangeType = 'CEX';
  readonly type: BookType;
  readonly losses = 'not needed: each reply is the whole book';
  readonly compared: string | null;
  private readonly stopping = new AbortController();
  /** Its request waits for its turn, or for the reply. */
  private isAsking = false;

  constructor(
    private readonly market: ExchangeMarket,
    private readonly context: SourceContext,
  ) {
    [this.name, this.venue, this.type] = [market.id, market.venue, market.type];
    const { seen } = market.exchange;
    this.compared = seen === null ? null : `messages of ${seen}`;
  }

  start(): void {}

  stop(): void {
    this.stopping.abort();
  }

  async sample(): Promise<Sample | Missing> {
    const { market, context } = this;
    const { rest } = market.exchange;
    if (rest === undefined) return { missing: 'the exchange has no book by REST' };
    if (this.isAsking) return { missing: 'its request of an interval before still waits' };
    try {
      const url = urlAt(market.restUrl, rest.url(market));
      // Where the moment has passed, the request is not made once its turn comes.
      const reply = await withTimeout(
        this.stopping.signal,
        sampleTimeoutMs(context.everyS),
        (signal) => {
          this.isAsking = true;
          return context.rest.fetch(url, signal, rest).finally(() => (this.isAsking = false));
        },
      );
      const update = rest.read(reply);
      const message = new BookMessage();
      message.startOver();
      for (const side of ['bids', 'asks'] as const) {
        for (const [price, size] of update[side].levels) message[side].set(price, size);
      }
      const book = new OrderBook();
      book.apply(message);
      return sampleOfBook(book.sorted(), market.symbol, market, 0);
    } catch (error) {
      return { missing: messageOf(error) };
    }
  }
}
