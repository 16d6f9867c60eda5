/** GET /dca-pressure, from the board that stands. */
import type { Static } from 'typebox';
import { TIMEFRAMES } from '../../compute/orders/dca-orders.js';
import { rankOf, topOrdersOf, type PressureRanking } from '../../compute/orders/pressure.js';
import type { getDcaPressure } from './dca-pressure.js';
import type { Call, Handler } from '../api/endpoint.js';
import { KeptReplies } from '../api/replies.js';
import { boardTokenInfo } from '../tokens/token-info.js';
import { dcaOrderDocument } from './dca-order-document.js';
import { MAX_KEPT_ORDERS, REPLY_OVERHEAD_ORDERS } from './kept-orders.js';
import type { OrderFlow } from './order-flow.js';
import type { Pressure } from './pressure-board.js';
import { isWithinRanges, readTokenRanges, type TokenRanges } from './token-ranges.js';

/** Documents up to this are encoded once for all their requests, larger ones off the event loop. */
const MAX_ENCODED_ORDERS = 250;

export interface PressureServices {
  orders: Pick<OrderFlow, 'pressure'>;
}

type PressureQuery = Call<typeof getDcaPressure>['query'];
type PressureDocument = Static<(typeof getDcaPressure)['response']>;
type TokenDocument = PressureDocument['tokens'][number];

/** Makes the handler of GET /dca-pressure. */
export function pressureHandler({ orders }: PressureServices): Handler<typeof getDcaPressure> {
  let of: Pressure | null = null;
  let replies = emptyReplies();
  return ({ query }) => {
    const ranges = readTokenRanges(query);
    const { current } = orders.pressure;
    if (of !== current) replies = emptyReplies();
    of = current;
    const reply = replies.get(keyOf(query), () => pressureDocument(current, query, ranges));
    return sizeOf(reply.document) <= MAX_ENCODED_ORDERS ? reply : reply.document;
  };
}

function emptyReplies(): KeptReplies<PressureDocument> {
  return new KeptReplies({ sizeOf, maxSize: MAX_KEPT_ORDERS });
}

/** In orders: a token takes up about as much as two. */
function sizeOf({ tokens }: PressureDocument): number {
  return tokens.reduce(
    (sum, { orders }) => sum + REPLY_OVERHEAD_ORDERS + orders.length,
    REPLY_OVERHEAD_ORDERS,
  );
}

function keyOf(query: PressureQuery): string {
  return [
    query.sort_by,
    query.sort_dir,
    query.sort_timeframe,
    query.include_orders ? query.order_limit : 0,
    query.limit,
    query.min_mcap,
    query.max_mcap,
    query.min_liquidity,
    query.max_liquidity,
  ].join(' ');
}

function pressureDocument(
  { rows, ranking }: Pressure,
  query: PressureQuery,
  ranges: TokenRanges,
): PressureDocument {
  const tokens: TokenDocument[] = [];
  for (const i of rankOf(ranking, query.sort_by, query.sort_dir, query.sort_timeframe)) {
    if (!isWithinRanges(rows[i].token, ranges)) continue;
    tokens.push(tokenDocument({ rows, ranking }, i, query));
    if (tokens.length === query.limit) break;
  }
  return {
    query_parameters: {
      sort_by: query.sort_by,
      sort_timeframe: query.sort_timeframe,
      include_orders: query.include_orders,
      limit: query.limit,
      chain: 'mainchain',
    },
    count: tokens.length,
    tokens,
  };
}

function tokenDocument(
  { rows, ranking }: Pressure,
  i: number,
  { include_orders: withOrders, order_limit: limit, sort_timeframe: timeframe }: PressureQuery,
): TokenDocument {
  const { token, orders } = rows[i];
  const shown = withOrders ? topOrdersOf(ranking, i, timeframe, limit) : [];
  return {
    token: boardTokenInfo(token),
    buy_order_count: ranking.buyCount[i],
    sell_order_count: ranking.sellCount[i],
    total_buy_usd: ranking.totalBuyUsd[i],
    total_sell_usd: ranking.totalSellUsd[i],
    net_usd: ranking.totalBuyUsd[i] - ranking.totalSellUsd[i],
    impact: impactDocument(ranking, i, rows.length),
    orders: Array.from(shown, (order) => dcaOrderDocument(orders[order], token, ranking.nowS)),
  };
}

/** Each timeframe's `net_usd` and `net_pct`, in the order of api.md 2.5. */
function impactDocument(
  { netUsd, netPct }: PressureRanking,
  i: number,
  tokens: number,
): TokenDocument['impact'] {
  const fields = TIMEFRAMES.flatMap((timeframe, f) => {
    const pct = netPct[f * tokens + i];
    return [
      [`net_usd_${timeframe}`, netUsd[f * tokens + i]],
      [`net_pct_${timeframe}`, Number.isNaN(pct) ? null : pct],
    ];
  });
  return Object.fromEntries(fields) as TokenDocument['impact'];
}
