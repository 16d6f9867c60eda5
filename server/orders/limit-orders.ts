import Type from 'typebox';
import { CHAINS } from '../../compute/market.js';
import { defineEndpoint } from '../api/endpoint.js';
import {
  bounded,
  chainFilter,
  chainKey,
  count,
  document,
  epochSeconds,
  most,
  text,
  tokenAddress,
  tokenSymbol,
  usd,
} from '../api/schemas.js';
import { direction, pairedSymbol } from './dca-order-fields.js';
import { ordersToken } from '../tokens/token-info-fields.js';

const MIN_CHANGE = -0.99;
const MAX_CHANGE = 10;
export const DEFAULT_LOW_CHANGE = -0.9;
const MAX_ORDERS = 500;
const DEFAULT_ORDERS = 100;

const limitOrder = document({
  order_address: text('Address of the order'),
  chain: chainKey,
  direction,
  platform: text('Name of the order platform, as given'),
  symbol: tokenSymbol,
  paired_symbol: pairedSymbol,
  maker: text('Wallet address'),
  usd_price: usd('Price of the order'),
  current_price_usd: usd("Current price of the order's own leg"),
  pct_away: Type.Number({
    description: '`usd_price / current_price_usd - 1`, a fraction: -0.21 is 21% below.',
  }),
  usd_support_amount: usd('What is left of a BUY order; 0 of a SELL order'),
  usd_resistance_amount: usd('What is left of a SELL order; 0 of a BUY order'),
  pct_complete: Type.Number({ description: 'What has been filled, a fraction: 0.25 is 25%.' }),
  created_at: epochSeconds('When the order was made'),
});

export const getLimitOrders = defineEndpoint({
  operationId: 'getLimitOrders',
  method: 'GET',
  path: '/limit-orders',
  tag: 'Orders',
  summary: 'Limit orders around the price of one token',
  description:
    'Active limit orders within a range of the current price, the nearest by `|pct_away|` first, ties by ' +
    'address. Active is an order that is not closed and has something left. `chain` is a filter: it ' +
    "names the leg of the token's asset whose orders come back, the address' own where it is absent, every " +
    'leg with `all`; range, limit and order hold for all of them together. Without such a leg there are ' +
    'no orders, nor of a leg without a current price: how far they are away is not known. A token ' +
    'without a record is a 404, and is not queued.',
  tier: 'premium',
  quotaCost: 1,
  rateBuckets: ['general'],
  chain: { kind: 'filter', at: { in: 'query', name: 'token_address' }, supported: CHAINS },
  query: Type.Object({
    token_address: tokenAddress,
    low_pct_change: bounded(MIN_CHANGE, MAX_CHANGE, {
      default: DEFAULT_LOW_CHANGE,
      description: 'Least `pct_away`, included: a fraction of the price, -0.25 is 25% below.',
    }),
    high_pct_change: bounded(MIN_CHANGE, MAX_CHANGE, {
      default: MAX_CHANGE,
      description: 'Greatest `pct_away`, included; not below `low_pct_change`.',
    }),
    limit: most('orders that are listed', { maximum: MAX_ORDERS, fallback: DEFAULT_ORDERS }),
  }),
  body: null,
  response: document({
    query_parameters: document({
      token_address: tokenAddress,
      low_pct_change: Type.Number(),
      high_pct_change: Type.Number(),
      limit: Type.Integer(),
      chain: chainFilter,
    }),
    token: ordersToken,
    count: count('Items of `orders`'),
    orders: Type.Array(limitOrder, { maxItems: MAX_ORDERS }),
  }),
  errors: ['token_not_found'],
});
