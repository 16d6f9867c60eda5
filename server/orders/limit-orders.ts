/** GET /limit-orders, answered from memory. */
import Type, { type Static } from '../api/type.js';
import { CHAINS } from '../../compute/market.js';
import {
  type LadderLeg,
  nearestOrders,
  type NearOrder,
} from '../../compute/orders/limit-orders.js';
import type { ChainFilter } from '../api/chain.js';
import { type Call, defineEndpoint, type Handler } from '../api/endpoint.js';
import { invalidParameter } from '../api/errors.js';
import { Reply, addDataTime, replyKey } from '../api/replies.js';
import {
  addressParameter,
  chainFilter,
  chainKey,
  count,
  document,
  epochSeconds,
  most,
  share,
  text,
  tokenAddress,
  tokenSymbol,
  usd,
} from '../api/schemas.js';
import { whenReady } from '../board.js';
import type { LiveTokens } from '../tokens/live-tokens.js';
import { ordersToken, ordersTokenDocument } from '../tokens/token-fields.js';
import { currentPriceUsd, dataTime, type LiveToken } from '../tokens/token-table.js';
import { direction, pairedSymbol } from './order-documents.js';
import type { Services } from '../services.js';

const MIN_CHANGE = -0.99;
const MAX_CHANGE = 10;
const DEFAULT_LOW_CHANGE = -0.9;
const MAX_ORDERS = 500;
const DEFAULT_ORDERS = 100;

const limitOrder = document('LimitOrder', {
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
    description: '`usd_price / current_price_usd - 1`, as a fraction: -0.21 is 21% below.',
  }),
  usd_support_amount: usd('Remaining amount of a BUY order; 0 for a SELL order'),
  usd_resistance_amount: usd('Remaining amount of a SELL order; 0 for a BUY order'),
  pct_complete: Type.Number({ description: 'Filled share, as a fraction: 0.25 is 25%.' }),
  created_at: epochSeconds('Time of creation'),
});

export const getLimitOrders = defineEndpoint({
  operationId: 'getLimitOrders',
  method: 'GET',
  path: '/limit-orders',
  tag: 'Orders',
  summary: 'Limit orders around the price of one token',
  description:
    'Active limit orders within a range of the current price, nearest first by `|pct_away|`, ties by ' +
    'address. An order is active if it is not closed and has something left to trade. `chain` filters ' +
    "the legs of the token's asset: one chain, or every leg with `all`; the default is the address' own " +
    'chain. The range, the limit and the sort order apply to all legs together. A missing leg, or one ' +
    'without a current price, has no orders. A token without a record is a 404 and is not queued. ' +
    "`X-Data-Time` is of the requested token's own snapshot.",
  dataTime: true,
  chain: { kind: 'filter', at: { in: 'query', name: 'token_address' }, supported: CHAINS },
  query: Type.Object({
    token_address: addressParameter,
    low_pct_change: share('fraction', MIN_CHANGE, MAX_CHANGE, {
      default: DEFAULT_LOW_CHANGE,
      description:
        'Minimum `pct_away` (inclusive), as a fraction of the price: -0.25 is 25% below.',
    }),
    high_pct_change: share('fraction', MIN_CHANGE, MAX_CHANGE, {
      default: MAX_CHANGE,
      description: 'Maximum `pct_away` (inclusive); not below `low_pct_change`.',
    }),
    limit: most('orders', { maximum: MAX_ORDERS, fallback: DEFAULT_ORDERS }),
  }),
  response: document('LimitOrders', {
    query_parameters: document('LimitOrdersParameters', {
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

type LimitOrdersDocument = Static<(typeof getLimitOrders)['response']>;
type LimitOrdersQuery = Call<typeof getLimitOrders>['query'];

export function limitOrdersHandler({
  tokens,
  orders,
  kept,
}: Services): Handler<typeof getLimitOrders> {
  const reply = (token: LiveToken, chain: ChainFilter, query: LimitOrdersQuery) => {
    const legs = legsOf(tokens, token, chain);
    const ladders = legs.map((leg) => orders.limit.get(leg.details.address));
    const { low_pct_change: low, high_pct_change: high, limit } = query;
    const states = [token, ...legs].flatMap(({ details, revision }) => [details.tokenId, revision]);
    const key = replyKey('limit-orders', ...states, ...ladders, chain, low, high, limit);
    return Reply.cached(kept, key, (): LimitOrdersDocument => {
      const known = legs.flatMap((leg, i): (LadderLeg & { token: LiveToken })[] => {
        const ladder = ladders[i];
        const priceUsd = currentPriceUsd(leg);
        return ladder === null || priceUsd === null ? [] : [{ token: leg, ladder, priceUsd }];
      });
      const near = nearestOrders(known, { lowChange: low, highChange: high, limit });
      return {
        query_parameters: {
          token_address: token.details.address,
          low_pct_change: low,
          high_pct_change: high,
          limit,
          chain,
        },
        token: ordersTokenDocument(token),
        count: near.length,
        orders: near.map((found) => orderDocument(found, known[found.leg])),
      };
    });
  };
  return ({ token: requested, chain, query, exchange }) => {
    checkRange(query);
    orders.limit.checkReadable();
    return whenReady(tokens.known(requested), (token) => {
      addDataTime(exchange, dataTime(token));
      return reply(token, chain, query);
    });
  };
}

function legsOf(tokens: LiveTokens, token: LiveToken, chain: ChainFilter): LiveToken[] {
  const chains = chain === 'all' ? CHAINS : [chain];
  return chains.flatMap((each) => tokens.table.leg(token, each) ?? []);
}

function checkRange({ low_pct_change: low, high_pct_change: high }: LimitOrdersQuery): void {
  // A request with `high_pct_change` alone may send less than the default of `low_pct_change`.
  if (low <= high || low === DEFAULT_LOW_CHANGE) return;
  throw invalidParameter(
    'low_pct_change',
    `expected a fraction of at most high_pct_change, ${high}; was ${low}`,
  );
}

function orderDocument(
  { order, pctAway }: NearOrder,
  { token, priceUsd }: { token: LiveToken; priceUsd: number },
): LimitOrdersDocument['orders'][number] {
  const isBuy = order.direction === 'BUY';
  return {
    order_address: order.orderAddress,
    chain: token.details.chain,
    direction: order.direction,
    platform: order.platform,
    symbol: token.details.symbol,
    paired_symbol: order.pairedSymbol,
    maker: order.maker,
    usd_price: order.usdPrice,
    current_price_usd: priceUsd,
    pct_away: pctAway,
    usd_support_amount: isBuy ? order.remainingUsd : 0,
    usd_resistance_amount: isBuy ? 0 : order.remainingUsd,
    pct_complete: order.pctComplete,
    created_at: order.createdAtS,
  };
}
