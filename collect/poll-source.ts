/** A book that is asked for by REST at every interval. */
import { messageOf } from '../storage/errors.js';
import { BookMessage, OrderBook } from '../storage/import/order-book.js';
import { sampleOfBook } from './book-sample.js';
import type { BookType } from './exchange.js';
import { type ExchangeMarket, urlAt } from './exchange-market.js';
import type { Missing, Sample, Source, SourceContext } from './source.js';

export class PollSource implements Source {
  readonly name: string;
  readonly venue: string;
  readonly exchangeType = 'CEX';
  readonly type: BookType;
  readonly losses = 'not needed: each reply is the whole book';
  readonly compared: string | null;
  private readonly stopping = new AbortController();

  constructor(
    private readonly market: ExchangeMarket,
    private readonly context: SourceContext,
  ) {
    [this.name, this.venue, this.type] = [market.id, market.exchangeName, market.type];
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
    try {
      const url = urlAt(market.restUrl, rest.url(market));
      const update = rest.read(await context.rest.fetch(url, this.stopping.signal));
      const message = new BookMessage();
      message.startOver();
      for (const side of ['bids', 'asks'] as const) {
        for (const [price, size] of update[side].levels) message[side].set(price, size);
      }
      const book = new OrderBook();
      book.apply(message);
      return sampleOfBook(book, market.symbol, market, 0);
    } catch (error) {
      return { missing: messageOf(error) };
    }
  }
}
