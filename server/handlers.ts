/** The handlers of the API's endpoints over the data in memory; replay's is made with the server. */
import type { TokenQueue } from '../storage/contract.js';
import type { Handlers } from './api/endpoint.js';
import type { Clock } from './clock.js';
import { marketDepthHandler, type MarketDepthServices } from './depth/market-depth.js';
import type { Endpoints } from './endpoints.js';
import { holderHandlers } from './holders/whale-activity.js';
import type { HolderFlows } from './holders/holder-flows.js';
import type { Log } from './log.js';
import { lpHandlers } from './lp/lp-handlers.js';
import type { LpTools } from './lp/lp-tools.js';
import { dcaOrdersHandler } from './orders/dca-orders.js';
import { dcaPressureHandler } from './orders/dca-pressure.js';
import { limitOrdersHandler } from './orders/limit-orders.js';
import type { LiveOrders } from './orders/live-orders.js';
import { batchScoreHandler, scoreHandler } from './scores/score.js';
import type { TopScores } from './scores/top-scores.js';

export interface LiveServices extends MarketDepthServices {
  topScores: TopScores;
  orders: LiveOrders;
  holderFlows: HolderFlows;
  lp: LpTools;
  /** Mints that are the quote side of a pool, first the one that is it before all others. */
  quotes: readonly string[];
  queue: TokenQueue;
  clock: Clock;
  log: Log;
}

export type LiveHandlers = Omit<Handlers<Endpoints>, 'getReplay'>;

export function liveHandlers(services: LiveServices): LiveHandlers {
  const { tokens, topScores, holderFlows, lp, quotes } = services;
  return {
    getScore: scoreHandler(services),
    postScore: batchScoreHandler(services),
    getTopScores: topScores.handler,
    getMarketDepth: marketDepthHandler(services),
    getDcaPressure: dcaPressureHandler(services),
    getDcaOrders: dcaOrdersHandler(services),
    getLimitOrders: limitOrdersHandler(services),
    ...holderHandlers(holderFlows),
    ...lpHandlers({ lp, tokens: tokens.table, quotes }),
  };
}
