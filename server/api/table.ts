/** The one table of the API's endpoints. What is not in it is not served. */
import { getDcaOrders } from './endpoints/get-dca-orders.js';
import { getDcaPressure } from './endpoints/get-dca-pressure.js';
import { getDlmm } from './endpoints/get-dlmm.js';
import { getDlmmPools } from './endpoints/get-dlmm-pools.js';
import { getLimitOrders } from './endpoints/get-limit-orders.js';
import { getLpCheatSheet } from './endpoints/get-lp-cheat-sheet.js';
import { getMarketDepth } from './endpoints/get-market-depth.js';
import { getReplay } from './endpoints/get-replay.js';
import { getScore } from './endpoints/get-score.js';
import { getTopScores } from './endpoints/get-top-scores.js';
import { getWhaleActivity } from './endpoints/get-whale-activity.js';
import { postScore } from './endpoints/post-score.js';
import { postWhaleActivity } from './endpoints/post-whale-activity.js';

export const BASE_PATH = '/api/v1';

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
