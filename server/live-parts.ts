/** The parts of a server that keep data in memory, ready for requests, and follow the store's changes. */
import type { ComputePool } from '../compute/pool.js';
import type {
  DepthSource,
  HolderSource,
  LpSource,
  MarketSource,
  OrderSource,
  StoreChange,
} from '../storage/contract.js';
import type { Board } from './board.js';
import type { Clock } from './clock.js';
import { HolderFlows } from './holders/holder-flows.js';
import type { Logger } from './logger.js';
import { LpTools } from './lp/lp-tools.js';
import { DEFAULT_SHARES, type Shares } from './memory.js';
import { LiveOrders } from './orders/live-orders.js';
import { type Boards, topScoreBoards } from './scores/top-scores.js';
import { LiveTokens } from './tokens/live-tokens.js';

interface LivePartsOptions {
  sources: {
    market: MarketSource;
    depth: DepthSource;
    orders: OrderSource;
    holders: HolderSource;
    lp: LpSource;
  };
  pool: ComputePool;
  clock: Clock;
  logger: Logger;
  /** Greatest age of a snapshot that is not stale. */
  staleAfterS: number;
  /** Mints of quote tokens, highest rank first. */
  quotes: readonly string[];
  memory?: Pick<Shares, 'ladders' | 'holders'>;
}

export class LiveParts {
  readonly tokens: LiveTokens;
  readonly topScores: Board<Boards>;
  readonly orders: LiveOrders;
  readonly holderFlows: HolderFlows;
  readonly lp: LpTools;

  constructor(options: LivePartsOptions) {
    const { sources, pool, clock, logger, staleAfterS, quotes, memory = DEFAULT_SHARES } = options;
    this.tokens = new LiveTokens({
      source: sources.market,
      pool,
      clock,
      logger,
      staleAfterS,
      maxHeldBytes: memory.ladders,
    });
    const { tokens } = this;
    this.topScores = topScoreBoards(tokens, logger);
    this.orders = new LiveOrders({ source: sources.orders, tokens, pool, clock, logger });
    this.holderFlows = new HolderFlows({
      source: sources.holders,
      pool,
      clock,
      logger,
      maxKeptBytes: memory.holders / 2,
    });
    const { lp: source, depth } = sources;
    this.lp = new LpTools({ source, depth, tokens, workers: pool, clock, logger, quotes });
  }

  /** Rereads what a commit changed. */
  touch(change: StoreChange): void {
    this.tokens.touch(change.tokenIds);
    this.lp.change(change);
    this.orders.touch(change);
    this.holderFlows.touch(change.holderTokens);
  }

  /** Calls `listener` when scores, the boards of scores or the pressure board have changed. */
  onChange(listener: () => void): void {
    this.tokens.onLoad(listener);
    this.topScores.onBuild(listener);
    this.orders.pressure.board.onBuild(listener);
  }

  /** Resolves when tokens, their boards and orders can answer. Requests for the first boards of `lp` wait for them. */
  async start(): Promise<void> {
    await this.tokens.start();
    // An earlier board would lack tokens, and its rest would delay the complete one.
    this.tokens.onLoad(() => this.topScores.request());
    this.topScores.request();
    await this.topScores.settled();
    await this.orders.start();
    this.lp.start();
  }

  async close(): Promise<void> {
    const { lp, holderFlows, orders, topScores, tokens } = this;
    for (const part of [lp, holderFlows, orders, topScores, tokens]) await part.close();
  }
}
