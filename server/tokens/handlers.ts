/** The bots' endpoints over the market in memory. */
import { depthHandler, type MarketDepthServices } from '../depth/depth-handler.js';
import { scoreHandlers, type ScoreServices } from '../scores/score-handlers.js';

/** Makes the handlers that the market's state answers. */
export function marketHandlers(services: ScoreServices & MarketDepthServices) {
  return { ...scoreHandlers(services), getMarketDepth: depthHandler(services) };
}
