/** Every endpoint of the API, and their handlers. An endpoint that is not listed here is not served. */
import type { DepthSource, TokenQueue } from '../storage/contract.js';
import type { Handlers } from './api/endpoint.js';
import { replyMemory } from './api/replies.js';
import type { Clock } from './clock.js';
import { coverageHandler, getCoverage } from './depth/coverage.js';
import {
  getMarketDepth,
  marketDepthHandler,
  type MarketDepthServices,
} from './depth/market-depth.js';
import type { HolderFlows } from './holders/holder-flows.js';
import { getWhaleActivity, holderHandlers, postWhaleActivity } from './holders/whale-activity.js';
import type { Log } from './log.js';
import { dlmmPoolsHandler, getDlmmPools } from './lp/dlmm-pools.js';
import { dlmmHandler, getDlmm } from './lp/dlmm.js';
import { getLpCheatSheet, lpCheatSheetHandler } from './lp/lp-cheat-sheet.js';
import type { LpTools } from './lp/lp-tools.js';
import { DEFAULT_SHARES } from './memory.js';
import { dcaOrdersHandler, getDcaOrders } from './orders/dca-orders.js';
import { dcaPressureHandler, getDcaPressure } from './orders/dca-pressure.js';
import { getLimitOrders, limitOrdersHandler } from './orders/limit-orders.js';
import type { Limiter } from './limits/limiter.js';
import { getUsage, usageHandler } from './limits/usage.js';
import type { LiveOrders } from './orders/live-orders.js';
import { getReplayPlan } from './replay/replay-plan.js';
import { getReplay } from './replay/replay.js';
import { batchScoreHandler, getScore, postScore, scoreHandler } from './scores/score.js';
import { getTopScores, type TopScores } from './scores/top-scores.js';
import { getTokens, tokensHandler } from './tokens/tokens.js';

export const ENDPOINTS = {
  getScore,
  postScore,
  getTopScores,
  getMarketDepth,
  getDcaPressure,
  getDcaOrders,
  getLimitOrders,
  getWhaleActivity,
  postWhaleActivity,
  getDlmm,
  getDlmmPools,
  getLpCheatSheet,
  getReplay,
  getReplayPlan,
  getCoverage,
  getTokens,
  getUsage,
} as const;

interface LiveServices extends Omit<MarketDepthServices, 'kept'> {
  depth: DepthSource;
  limiter: Limiter;
  topScores: TopScores;
  orders: LiveOrders;
  holderFlows: HolderFlows;
  lp: LpTools;
  /** Mints that count as the quote side of a pool, by priority. */
  quotes: readonly string[];
  queue: TokenQueue;
  /** Memory for kept replies. */
  keptReplyBytes?: number;
  clock: Clock;
  log: Log;
}

export type LiveHandlers = Omit<Handlers<typeof ENDPOINTS>, 'getReplay' | 'getReplayPlan'>;

/** All handlers but those of replay, which are made with the server. */
export function liveHandlers(live: LiveServices): LiveHandlers {
  const { tokens, topScores, holderFlows, lp, quotes } = live;
  const kept = replyMemory(live.keptReplyBytes ?? DEFAULT_SHARES.keptReplies);
  const services = { ...live, kept };
  const lpServices = { lp, tokens: tokens.table, quotes, kept };
  return {
    getScore: scoreHandler(services),
    postScore: batchScoreHandler(services),
    getTopScores: topScores.handler,
    getMarketDepth: marketDepthHandler(services),
    getDcaPressure: dcaPressureHandler(services),
    getDcaOrders: dcaOrdersHandler(services),
    getLimitOrders: limitOrdersHandler(services),
    ...holderHandlers(holderFlows, kept),
    getDlmm: dlmmHandler(lpServices),
    getDlmmPools: dlmmPoolsHandler(lpServices),
    getLpCheatSheet: lpCheatSheetHandler(lpServices),
    getCoverage: coverageHandler(services),
    getTokens: tokensHandler(services),
    getUsage: usageHandler(services.limiter),
  };
}
