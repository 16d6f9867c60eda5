/** A handler for every endpoint of the table: one that lacks does not compile. */
import type { Handler } from './endpoint.js';
import type { Endpoints } from '../endpoints.js';

export type Handlers = { readonly [Id in keyof Endpoints]: Handler<Endpoints[Id]> };

/** The endpoints that the market's state in memory answers. */
export type MarketHandlers = Pick<
  Handlers,
  'getScore' | 'postScore' | 'getTopScores' | 'getMarketDepth'
>;

/** The endpoints that the orders in memory answer. */
export type FlowHandlers = Pick<Handlers, 'getDcaPressure' | 'getDcaOrders' | 'getLimitOrders'>;

/** The endpoints that are answered from the flows of tokens' holders. */
export type HolderHandlers = Pick<Handlers, 'getWhaleActivity' | 'postWhaleActivity'>;

/** The endpoints that the boards of pools and of fee density answer. */
export type LpHandlers = Pick<Handlers, 'getDlmm' | 'getDlmmPools' | 'getLpCheatSheet'>;
