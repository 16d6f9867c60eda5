/** Every endpoint of the API, and their handlers. An endpoint that is not listed here is not served. */
import type { KeyRecord, TokenQueue } from '../storage/contract.js';
import type { Handlers } from './api/endpoint.js';
import { replyMemory } from './api/replies.js';
import { coverageHandler, getCoverage } from './depth/coverage.js';
import { depthSeriesHandler, getDepthSeries } from './depth/depth-series.js';
import { getMarketDepth, marketDepthHandler, type NativeCurrency } from './depth/market-depth.js';
import { SnapshotSumsReader } from './depth/snapshot-sums.js';
import { getSlippage, slippageHandler } from './depth/slippage.js';
import { getWhaleActivity, holderHandlers, postWhaleActivity } from './holders/whale-activity.js';
import { Budget } from './http/budget.js';
import type { LiveParts } from './live-parts.js';
import type { Log } from './log.js';
import { dlmmPoolsHandler, getDlmmPools } from './lp/dlmm-pools.js';
import { dlmmHandler, getDlmm } from './lp/dlmm.js';
import { getLpCheatSheet, lpCheatSheetHandler } from './lp/lp-cheat-sheet.js';
import { DEFAULT_SHARES } from './memory.js';
import { dcaOrdersHandler, getDcaOrders } from './orders/dca-orders.js';
import { dcaPressureHandler, getDcaPressure } from './orders/dca-pressure.js';
import { getLimitOrders, limitOrdersHandler } from './orders/limit-orders.js';
import type { Limiter } from './limits/limiter.js';
import { getUsage, usageHandler } from './limits/usage.js';
import { getReplayPlan, replayPlanHandler } from './replay/replay-plan.js';
import {
  getReplay,
  MAX_PAGES_IN_PREPARATION,
  replayHandler,
  type ReplayServices,
} from './replay/replay.js';
import { batchScoreHandler, getScore, postScore, scoreHandler } from './scores/score.js';
import { ScoreHistory } from './scores/score-history.js';
import { DetailedScores } from './scores/top-score-details.js';
import { getTopScores, topScoresHandler } from './scores/top-scores.js';
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

interface Services extends Omit<ReplayServices, 'inPreparation'> {
  live: LiveParts;
  limiter: Limiter;
  /** Mints that count as the quote side of a pool, by priority. */
  quotes: readonly string[];
  native: NativeCurrency;
  queue: TokenQueue;
  log: Log;
  /** Whether a key only gets delayed depth. */
  isDelayed?: (key: KeyRecord) => boolean;
  /** Memory for kept replies. */
  keptReplyBytes?: number;
}

/** The handlers of all endpoints. */
export function handlersOf({ live, ...options }: Services): Handlers<typeof ENDPOINTS> {
  const { quotes } = options;
  const { tokens, topScores, orders, holderFlows, lp } = live;
  const kept = replyMemory(options.keptReplyBytes ?? DEFAULT_SHARES.keptReplies);
  const services = { ...options, tokens, table: tokens.table, orders, kept };
  const sums = new SnapshotSumsReader(options.depth, options.columns, kept);
  const history = new ScoreHistory(tokens, sums);
  const lpServices = { lp, tokens: tokens.table, quotes, kept };
  const inPreparation = new Budget(MAX_PAGES_IN_PREPARATION);
  const replay = { ...options, inPreparation };
  return {
    getScore: scoreHandler(services),
    postScore: batchScoreHandler(services),
    getTopScores: topScoresHandler(topScores, new DetailedScores({ ...services, history })),
    getMarketDepth: marketDepthHandler(services),
    getSlippage: slippageHandler(services),
    getDcaPressure: dcaPressureHandler(services),
    getDcaOrders: dcaOrdersHandler(services),
    getLimitOrders: limitOrdersHandler(services),
    ...holderHandlers(holderFlows, kept),
    getDlmm: dlmmHandler(lpServices),
    getDlmmPools: dlmmPoolsHandler(lpServices),
    getLpCheatSheet: lpCheatSheetHandler(lpServices),
    getReplay: replayHandler(replay),
    getReplayPlan: replayPlanHandler(replay),
    getDepthSeries: depthSeriesHandler({ ...replay, sums, history }),
    getCoverage: coverageHandler(services),
    getTokens: tokensHandler(services),
    getUsage: usageHandler(services.limiter),
  };
}
