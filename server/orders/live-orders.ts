/** Active DCA and limit orders in memory, and the board of DCA pressure. */
import type { ComputePool } from '../../compute/pool.js';
import type { OrderSource, StoreChange } from '../../storage/contract.js';
import type { Clock } from '../clock.js';
import type { Logger } from '../logger.js';
import type { LiveTokens } from '../tokens/live-tokens.js';
import { LimitOrdersByToken, DcaOrdersByToken } from './orders-by-token.js';
import { PressureBoard } from './pressure-board.js';

interface LiveOrdersOptions {
  source: OrderSource;
  /** Started before the orders. */
  tokens: Pick<LiveTokens, 'table' | 'onLoad'>;
  pool: Pick<ComputePool, 'run'>;
  clock: Clock;
  logger: Logger;
}

export class LiveOrders {
  readonly dca: DcaOrdersByToken;
  readonly limit: LimitOrdersByToken;
  readonly pressure: PressureBoard;

  constructor(options: LiveOrdersOptions) {
    const { source, tokens, logger } = options;
    this.dca = new DcaOrdersByToken(source.dca, logger);
    this.limit = new LimitOrdersByToken(source.limit, logger);
    this.pressure = new PressureBoard({ ...options, tokens: tokens.table, orders: this.dca });
    this.dca.onChange = (addresses) => this.pressure.touch(addresses);
    tokens.onLoad((addresses) => this.pressure.touch(addresses));
  }

  /** Rereads the orders that a commit changed. */
  touch({ dcaTokens, limitTokens }: Pick<StoreChange, 'dcaTokens' | 'limitTokens'>): void {
    this.dca.touch(dcaTokens);
    this.limit.touch(limitTokens);
  }

  /** Reads all active orders and ranks a first board, then follows the store. */
  async start(): Promise<void> {
    await Promise.all([this.dca.start(), this.limit.start()]);
    await this.pressure.start();
  }

  /** Resolves when every change so far is read and ranked, or has failed once. */
  async settled(): Promise<void> {
    await Promise.all([this.dca.settled(), this.limit.settled()]);
    await this.pressure.board.settled();
  }

  async close(): Promise<void> {
    await Promise.all([this.dca.close(), this.limit.close(), this.pressure.board.close()]);
  }
}
