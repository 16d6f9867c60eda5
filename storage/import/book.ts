import type { Market } from '../../compute/market.js';
import { InputError } from '../errors.js';
import { BookSide, LevelList } from './levels.js';
import type { ImportOptions, ImportToken } from './options.js';

/** What one message of a feed does to the book, all at once. */
export class BookMessage {
  /** `file:line` of the message, for faults. */
  where = '';
  /** The levels are the whole book: what the book held is discarded. */
  reset = false;
  readonly bids = new LevelList();
  readonly asks = new LevelList();

  /** Starts the whole book anew; what the message said before is discarded too. */
  startOver(): void {
    this.clear();
    this.reset = true;
  }

  clear(): void {
    this.reset = false;
    this.bids.clear();
    this.asks.clear();
  }

  get levels(): number {
    return this.bids.length + this.asks.length;
  }
}

/** An order book in the units of its feed. */
export class OrderBook {
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

/** The market whose book an import writes, without what only pools have. */
export type BookMarket = Pick<Market, 'source' | 'type'> & { pair: string };

/** One row of the dataset `snapshots`: the book at moment `t` (epoch seconds) as one market. */
export function snapshotOfBook(
  book: OrderBook,
  t: number,
  token: ImportToken,
  market: BookMarket,
  options: Pick<ImportOptions, 'quoteUsd' | 'contractUsd'>,
): object {
  const { quoteUsd, contractUsd } = options;
  const level =
    contractUsd === undefined
      ? (price: number, size: number) => [price * quoteUsd, size]
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
