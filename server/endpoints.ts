/** Every endpoint of the API, and their handlers. An endpoint that is not listed here is not served. */
import type { Handlers } from './api/endpoint.js';
import { replyMemory } from './api/replies.js';
import { coverageHandler, getCoverage } from './depth/coverage.js';
import { depthSeriesHandler, getDepthSeries } from './depth/depth-series.js';
import { getMarketDepth, marketDepthHandler } from './depth/market-depth.js';
import { getSlippage, slippageHandler } from './depth/slippage.js';
import { getWhaleActivity, holderHandlers, postWhaleActivity } from './holders/whale-activity.js';
import { Budget } from './http/budget.js';
import type { LiveParts } from './live-parts.js';
import { dlmmPoolsHandler, getDlmmPools } from './lp/dlmm-pools.js';
import { dlmmHandler, getDlmm } from './lp/dlmm.js';
import { getLpCheatSheet, lpCheatSheetHandler } from './lp/lp-cheat-sheet.js';
import { DEFAULT_SHARES } from './memory.js';
import { dcaOrdersHandler, getDcaOrders } from './orders/dca-orders.js';
import { dcaPressureHandler, getDcaPressure } from './orders/dca-pressure.js';
import { getLimitOrders, limitOrdersHandler } from './orders/limit-orders.js';
import { getUsage, usageHandler } from './limits/usage.js';
import { getReplayPlan, replayPlanHandler } from './replay/replay-plan.js';
import { getReplay, MAX_PAGES_IN_PREPARATION, replayHandler } from './replay/replay.js';
import { batchScoreHandler, getScore, postScore, scoreHandler } from './scores/score.js';
import { DetailedScores } from './scores/top-score-details.js';
import { getTopScores, topScoresHandler } from './scores/top-scores.js';
import type { GivenServices, Services } from './services.js';
import { getTokens, tokensHandler } from './tokens/tokens.js';

export const ENDPOINTS = {
  getScore,
  postScore,
  getTopScores,
  getMarketDepth,
  getSlippage,
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
  getDepthSeries,
  getCoverage,
  getTokens,
  getUsage,
} as const;

interface HandlerOptions extends GivenServices {
  live: LiveParts;
  /** Memory for kept replies. */
  keptReplyBytes?: number;
  /** Memory for kept pages. */
  keptPageBytes?: number;
}

export function handlersOf({ live, ...given }: HandlerOptions): Handlers<typeof ENDPOINTS> {
  const { tokens, topScores, orders, holderFlows, lp } = live;
  const kept = replyMemory(given.keptReplyBytes ?? DEFAULT_SHARES.keptReplies);
  const keptPages = replyMemory(given.keptPageBytes ?? DEFAULT_SHARES.keptPages);
  const inPreparation = new Budget(MAX_PAGES_IN_PREPARATION);
  const parts = { tokens, orders, holderFlows, lp };
  const services: Services = { ...given, ...parts, kept, keptPages, inPreparation };
  return {
    getScore: scoreHandler(services),
    postScore: batchScoreHandler(services),
    getTopScores: topScoresHandler(topScores, new DetailedScores(services)),
    getMarketDepth: marketDepthHandler(services),
    getSlippage: slippageHandler(services),
    getDcaPressure: dcaPressureHandler(services),
    getDcaOrders: dcaOrdersHandler(services),
    getLimitOrders: limitOrdersHandler(services),
    ...holderHandlers(services),
    getDlmm: dlmmHandler(services),
    getDlmmPools: dlmmPoolsHandler(services),
    getLpCheatSheet: lpCheatSheetHandler(services),
    getReplay: replayHandler(services),
    getReplayPlan: replayPlanHandler(services),
    getDepthSeries: depthSeriesHandler(services),
    getCoverage: coverageHandler(services),
    getTokens: tokensHandler(services),
    getUsage: usageHandler(services),
  };
}
