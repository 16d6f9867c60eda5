/** The tools, in the order in which they are listed. */
import type { Tool } from './tool.js';
import { board } from './tools/boards.js';
import { compareTokens } from './tools/compare.js';
import { dcaOrders } from './tools/dca-orders.js';
import { depthSeries } from './tools/depth-series.js';
import { tokenDepth } from './tools/depth.js';
import { findTokens } from './tools/find-tokens.js';
import { limitOrders } from './tools/limit-orders.js';
import { tokenScore } from './tools/score.js';
import { slippage } from './tools/slippage.js';

export const TOOLS: readonly Tool[] = [
  findTokens,
  tokenScore,
  tokenDepth,
  slippage,
  depthSeries,
  compareTokens,
  board,
  limitOrders,
  dcaOrders,
];
