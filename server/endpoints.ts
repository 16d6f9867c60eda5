/** The one table of the API's endpoints. What is not in it is not served. */
import { getMarketDepth } from './depth/market-depth.js';
import { getWhaleActivity, postWhaleActivity } from './holders/whale-activity.js';
import { getDlmmPools } from './lp/dlmm-pools.js';
import { getDlmm } from './lp/dlmm.js';
import { getLpCheatSheet } from './lp/lp-cheat-sheet.js';
import { getDcaOrders } from './orders/dca-orders.js';
import { getDcaPressure } from './orders/dca-pressure.js';
import { getLimitOrders } from './orders/limit-orders.js';
import { getReplay } from './replay/replay.js';
import { getScore, postScore } from './scores/score.js';
import { getTopScores } from './scores/top-scores.js';

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
} as const;

export type Endpoints = typeof ENDPOINTS;
