/** GET /limit-orders, from memory, in the turn of the request. */
import type { Static } from 'typebox';
import { CHAINS } from '../../compute/market.js';
import {
  type LadderLeg,
  nearestOrders,
  type NearOrder,
} from '../../compute/orders/limit-orders.js';
import type { ChainFilter } from '../api/chain.js';
import type { Call, Handler } from '../api/endpoint.js';
import { invalidParameter } from '../api/errors.js';
import { KeptReplies, Versions } from '../api/replies.js';
import { knownToken } from '../tokens/known-token.js';
import { currentPriceUsd, type LiveToken } from '../tokens/token-table.js';
import type { LiveTokens } from '../tokens/live-tokens.js';
import { ordersTokenInfo } from '../tokens/token-info.js';
import { MAX_KEPT_ORDERS, REPLY_OVERHEAD_ORDERS } from './kept-orders.js';
import { DEFAULT_LOW_CHANGE, type getLimitOrders } from './limit-orders.js';
import type { OrderFlow } from './order-flow.js';

export interface LimitOrdersServices {
  tokens: LiveTokens;
  orders: Pick<OrderFlow, 'limitBook'>;
}

type LimitOrdersDocument = Static<(typeof getLimitOrders)['response']>;
type LimitOrdersQuery = Call<typeof getLimitOrders>['query'];

/** Makes the handler of GET /limit-orders. */
export function limitOrdersHandler({
  tokens: market,
  orders,
}: LimitOrdersServices): Handler<typeof getLimitOrders> {
  const versions = new Versions();
  const replies = new KeptReplies<LimitOrdersDocument>({
    sizeOf: ({ orders }) => orders.length + REPLY_OVERHEAD_ORDERS,
    maxSize: MAX_KEPT_ORDERS,
  });
  const reply = (token: LiveToken, chain: ChainFilter, query: LimitOrdersQuery) => {
    const legs = legsOf(market, token, chain);
    const ladders = legs.map((leg) => orders.limitBook.get(leg.details.address));
    const { low_pct_change: low, high_pct_change: high, limit } = query;
    const key = [
      ...[token, ...legs].map(({ details, revision }) => `${details.tokenId}:${revision}`),
      ...ladders.map((ladder) => versions.of(ladder)),
      chain,
      low,
      high,
      limit,
    ].join(' ');
    return replies.get(key, () => {
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
        token: ordersTokenInfo(token),
        count: near.length,
        orders: near.map((found) => orderDocument(found, known[found.leg])),
      };
    });
  };
  return ({ token: asked, chain, query }) => {
    checkRange(query);
    const token = knownToken(market, asked);
    return token instanceof Promise
      ? token.then((loaded) => reply(loaded, chain, query))
      : reply(token, chain, query);
  };
}

/** The asset's legs on the chains that are asked for. */
function legsOf(market: LiveTokens, token: LiveToken, chain: ChainFilter): LiveToken[] {
  const chains = chain === 'all' ? CHAINS : [chain];
  return chains.flatMap((each) => market.table.leg(token, each) ?? []);
}

/** @throws ApiError 400 invalid_parameter */
function checkRange({ low_pct_change: low, high_pct_change: high }: LimitOrdersQuery): void {
  // `high_pct_change` alone may lie below what `low_pct_change` is by itself: nothing is in between.
  if (low <= high || low === DEFAULT_LOW_CHANGE) return;
  throw invalidParameter('low_pct_change', `expected at most high_pct_change, ${high}; was ${low}`);
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
