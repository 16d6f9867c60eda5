/** The one table of the API's endpoints. What is not in it is not served. */
import { getMarketDepth } from './endpoints/get-market-depth.js';
import { getReplay } from './endpoints/get-replay.js';
import { getScore } from './endpoints/get-score.js';
import { getTopScores } from './endpoints/get-top-scores.js';
import { postScore } from './endpoints/post-score.js';

export const BASE_PATH = '/api/v1';

export const ENDPOINTS = {
  getScore,
  postScore,
  getTopScores,
  getMarketDepth,
  getReplay,
} as const;

export type Endpoints = typeof ENDPOINTS;
