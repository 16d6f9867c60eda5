/** A handler for every endpoint of the table: one that lacks does not compile. */
import type { Handler } from './endpoint.js';
import type { Endpoints } from './table.js';

export type Handlers = { readonly [Id in keyof Endpoints]: Handler<Endpoints[Id]> };

/** The endpoints that the market's state in memory answers. */
export type MarketHandlers = Pick<
  Handlers,
  'getScore' | 'postScore' | 'getTopScores' | 'getMarketDepth'
>;
