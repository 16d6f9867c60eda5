/** The handlers of the API's endpoints, by the part of the service that answers them. */
import type { Endpoints } from '../endpoints.js';
import type { Handlers } from './endpoint.js';

type ApiHandlers = Handlers<Endpoints>;

/** The endpoints that the market's state in memory answers. */
export type MarketHandlers = Pick<
  ApiHandlers,
  'getScore' | 'postScore' | 'getTopScores' | 'getMarketDepth'
>;

/** The endpoints that the orders in memory answer. */
export type FlowHandlers = Pick<ApiHandlers, 'getDcaPressure' | 'getDcaOrders' | 'getLimitOrders'>;

/** The endpoints that are answered from the flows of tokens' holders. */
export type HolderHandlers = Pick<ApiHandlers, 'getWhaleActivity' | 'postWhaleActivity'>;

/** The endpoints that the boards of pools and of fee density answer. */
export type LpHandlers = Pick<ApiHandlers, 'getDlmm' | 'getDlmmPools' | 'getLpCheatSheet'>;
