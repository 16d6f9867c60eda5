/** What the handlers of the endpoints use. */
import type { ComputePool } from '../compute/pool.js';
import type { DepthSource, KeyRecord, TokenQueue } from '../storage/contract.js';
import type { ReplyMemory } from './api/replies.js';
import type { Clock } from './clock.js';
import type { HolderFlows } from './holders/holder-flows.js';
import type { Budget } from './http/budget.js';
import type { Limiter } from './limits/limiter.js';
import type { Logger } from './logger.js';
import type { LpTools } from './lp/lp-tools.js';
import type { PageSource } from './operations/metrics.js';
import type { LiveOrders } from './orders/live-orders.js';
import type { Fragments } from './replay/fragments.js';
import type { SegmentBlocks } from './replay/segment-blocks.js';
import type { LiveTokens } from './tokens/live-tokens.js';

/** The currency besides USD in which depth is available. */
export interface NativeCurrency {
  code: string;
  /** The mint whose current price is the price of the currency. */
  mint: string;
}

/** What a server gives its handlers. */
export interface GivenServices {
  depth: DepthSource;
  /** The segments of pages. */
  blocks: SegmentBlocks;
  pool: ComputePool;
  clock: Clock;
  logger: Logger;
  limiter: Limiter;
  queue: TokenQueue;
  /** Mints that count as the quote side of a pool, by priority. */
  quotes: readonly string[];
  native: NativeCurrency;
  /** Without it the pool makes every page. */
  fragments?: Fragments;
  /** Called with the source of each page. */
  onAnswered?: (source: PageSource) => void;
  /** Whether a key only gets delayed depth. */
  isDelayed?: (key: KeyRecord) => boolean;
}

export interface Services extends GivenServices {
  tokens: LiveTokens;
  orders: LiveOrders;
  holderFlows: HolderFlows;
  lp: LpTools;
  kept: ReplyMemory;
  /** Pages from fragments. */
  keptPages: ReplyMemory;
  /** Bounds requests being planned or answered from fragments. */
  inPreparation: Budget;
}
