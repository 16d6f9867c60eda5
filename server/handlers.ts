/** The handlers that answer from data in memory: all but replay's. */
import type { TokenQueue } from '../storage/contract.js';
import type { Handlers } from './api/endpoint.js';
import type { Clock } from './clock.js';
import { marketDepthHandler, type MarketDepthServices } from './depth/market-depth.js';
import type { Endpoints } from './endpoints.js';
import type { HolderFlows } from './holders/holder-flows.js';
import { holderHandlers } from './holders/whale-activity.js';
import type { Log } from './log.js';
import { dlmmPoolsHandler } from './lp/dlmm-pools.js';
import { dlmmHandler } from './lp/dlmm.js';
import { lpCheatSheetHandler } from './lp/lp-cheat-sheet.js';
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
  /** Mints of quote tokens, highest rank first. */
  quotes: readonly string[];
  queue: TokenQueue;
  clock: Clock;
  log: Log;
}

export type LiveHandlers = Omit<Handlers<Endpoints>, 'getReplay'>;

export function liveHandlers(services: LiveServices): LiveHandlers {
  const { tokens, topScores, holderFlows, lp, quotes } = services;
  const lpServices = { lp, tokens: tokens.table, quotes };
  return {
    getScore: scoreHandler(services),
    postScore: batchScoreHandler(services),
    getTopScores: topScores.handler,
    getMarketDepth: marketDepthHandler(services),
    getDcaPressure: dcaPressureHandler(services),
    getDcaOrders: dcaOrdersHandler(services),
    getLimitOrders: limitOrdersHandler(services),
    ...holderHandlers(holderFlows),
    getDlmm: dlmmHandler(lpServices),
    getDlmmPools: dlmmPoolsHandler(lpServices),
    getLpCheatSheet: lpCheatSheetHandler(lpServices),
  };
}
