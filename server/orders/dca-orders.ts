import Type from 'typebox';
import { defineEndpoint } from '../api/endpoint.js';
import { count, document, most, tokenAddress, word } from '../api/schemas.js';
import { dcaOrder } from './dca-order-fields.js';
import { ordersToken } from '../tokens/token-info-fields.js';
import { tokenRanges } from '../tokens/size-range-fields.js';

const MAX_ORDERS = 50;
const DEFAULT_ORDERS = 20;
const SORTS = ['pct_impact', 'usd_flow'] as const;
export type DcaOrdersSort = (typeof SORTS)[number];

export const getDcaOrders = defineEndpoint({
  operationId: 'getDcaOrders',
  method: 'GET',
  path: '/dca-orders',
  tag: 'Orders',
  summary: 'DCA orders of one token',
  description:
    'Active DCA orders of a mint, in their price range or not, with what they trade from now on. Active ' +
    'is an order that is not closed and has something left. A token outside a range that was sent has ' +
    'no orders; one without a record is a 404, and is not queued.',
  tier: 'premium',
  quotaCost: 1,
  rateBuckets: ['general'],
  chain: { kind: 'address', at: { in: 'query', name: 'token_address' }, supported: ['mainchain'] },
  query: Type.Object({
    token_address: tokenAddress,
    sort_by: word(SORTS, {
      default: 'pct_impact',
      description:
        "`pct_impact`: by the size of the move that the order's flow of 24 hours would cause alone on " +
        "the token's newest ladder, last where there is no depth to move along. `usd_flow`: by " +
        '`usd_next_24_hr`. Largest first, ties by address.',
    }),
    ...tokenRanges,
    limit: most('orders that are listed', { maximum: MAX_ORDERS, fallback: DEFAULT_ORDERS }),
  }),
  body: null,
  response: document({
    query_parameters: document({
      token_address: tokenAddress,
      sort_by: word(SORTS),
      limit: Type.Integer(),
      chain: word(['mainchain']),
    }),
    token: ordersToken,
    count: count('Items of `orders`'),
    orders: Type.Array(dcaOrder, { maxItems: MAX_ORDERS }),
  }),
  errors: ['token_not_found'],
});
