/** The active orders of both kinds in memory, and the board of the pressure of DCA orders. */
import type { ComputePool } from '../../compute/pool.js';
import type { OrderSource, StoreChange } from '../../storage/contract.js';
import type { Clock } from '../clock.js';
import type { Log } from '../log.js';
import type { LiveTokens } from '../tokens/live-tokens.js';
import { LimitBook } from './limit-book.js';
import { OrderBook } from './order-book.js';
import { PressureBoard } from './pressure-board.js';

export interface OrderFlowOptions {
  source: OrderSource;
  /** Started before the orders are. */
  tokens: Pick<LiveTokens, 'table' | 'onLoad'>;
  pool: Pick<ComputePool, 'run'>;
  clock: Clock;
  log: Log;
}

export class OrderFlow {
  readonly orderBook: OrderBook;
  readonly limitBook: LimitBook;
  readonly pressure: PressureBoard;

  constructor(options: OrderFlowOptions) {
    this.orderBook = new OrderBook(options);
    this.limitBook = new LimitBook(options);
    const { orderBook } = this;
    const { tokens: market } = options;
    this.pressure = new PressureBoard({ ...options, orderBook, state: market.table });
    orderBook.onChange((addresses) => this.pressure.touch(addresses));
    market.onLoad((addresses) => this.pressure.touch(addresses));
  }

  /** Takes note of a commit. */
  touch({ dcaTokens, limitTokens }: Pick<StoreChange, 'dcaTokens' | 'limitTokens'>): void {
    this.orderBook.touch(dcaTokens);
    this.limitBook.touch(limitTokens);
  }

  /** Reads every active order and ranks a first board, then follows the store. */
  async start(): Promise<void> {
    await Promise.all([this.orderBook.start(), this.limitBook.start()]);
    await this.pressure.start();
  }

  /** Resolves when all that was touched so far has been read and is ranked, or has failed once. */
  async settled(): Promise<void> {
    await Promise.all([this.orderBook.settled(), this.limitBook.settled()]);
    await this.pressure.settled();
  }

  async close(): Promise<void> {
    await Promise.all([this.orderBook.close(), this.limitBook.close(), this.pressure.close()]);
  }
}
