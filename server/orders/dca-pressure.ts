/** GET /dca-pressure, answered from the newest board. */
import Type, { type Static } from '../api/type.js';
import { type Timeframe, TIMEFRAMES } from '../../compute/orders/dca-orders.js';
import {
  MAX_TOP_ORDERS,
  PRESSURE_DIRECTIONS,
  PRESSURE_SORTS,
  type PressureRanking,
  rankOf,
  topOrdersOf,
} from '../../compute/orders/pressure.js';
import { type Call, defineEndpoint, type Handler } from '../api/endpoint.js';
import { Reply, replyKey } from '../api/replies.js';
import { count, document, flag, most, nullable, usd, word } from '../api/schemas.js';
import {
  boardToken,
  boardTokenDocument,
  isWithinSizeRanges,
  readSizeRanges,
  sizeRangeParameters,
  type SizeRanges,
} from '../tokens/token-fields.js';
import { dcaOrder, dcaOrderDocument } from './order-documents.js';
import type { Pressure } from './pressure-board.js';
import type { Services } from '../services.js';

const MAX_PRESSURE_TOKENS = 50;
const DEFAULT_TOKENS = 20;
const DEFAULT_ORDERS = 5;

const netUsd = usd('Amount that BUY orders trade less that of SELL orders, within the timeframe');
const netPct = nullable(
  Type.Number(),
  'The move of the price that this net flow would cause, percent: to where `/slippage` ends for an order of it, ' +
    'without perps, or to the end of the ladder if the flow is larger. 0 for no flow, null without depth on the side ' +
    'that it takes.',
);

type Flows = Record<`net_usd_${Timeframe}`, typeof netUsd> &
  Record<`net_pct_${Timeframe}`, typeof netPct>;

/** Both of each timeframe, in the order of the replies. */
const flows = Object.fromEntries(
  TIMEFRAMES.flatMap((timeframe) => [
    [`net_usd_${timeframe}`, netUsd],
    [`net_pct_${timeframe}`, netPct],
  ]),
) as Flows;

export const getDcaPressure = defineEndpoint({
  operationId: 'getDcaPressure',
  method: 'GET',
  path: '/dca-pressure',
  tag: 'Orders',
  summary: 'Tokens by the pressure of their DCA orders',
  description:
    'Tokens with a record and at least one active DCA order, by net buying (`desc`) or by net selling ' +
    '(`asc`). An order is active if it is not closed and has something left to trade. Counts and totals ' +
    'cover all active orders, flows only those whose price range contains the current price; a token ' +
    'without a price has none of these. With `sort_by=impact`, tokens whose `net_pct` of the timeframe ' +
    'is null come last in either direction. Ties are by ascending address. The list is updated within a ' +
    'second of a change in its data, and is at most 15 seconds old; it is exact when the clock is ' +
    'frozen. The whole reply describes the same moment.',
  rateBuckets: ['dca-pressure'],
  chain: { kind: 'list', supported: ['mainchain'] },
  query: Type.Object({
    sort_by: word(PRESSURE_SORTS, {
      default: 'usd',
      description: '`usd`: by `net_usd` of the timeframe; `impact`: by its `net_pct`.',
    }),
    sort_dir: word(PRESSURE_DIRECTIONS, {
      default: 'desc',
      description: '`desc`: buy pressure first; `asc`: sell pressure first.',
    }),
    sort_timeframe: word(TIMEFRAMES, {
      default: '24_hr',
      description: 'Timeframe by which tokens and their nested orders are sorted.',
    }),
    include_orders: flag(
      'Adds orders to each token, by descending `usd_next` of the timeframe, ties by address.',
    ),
    order_limit: most('orders per token; ignored without `include_orders=true`', {
      maximum: MAX_TOP_ORDERS,
      fallback: DEFAULT_ORDERS,
    }),
    limit: most('tokens', { maximum: MAX_PRESSURE_TOKENS, fallback: DEFAULT_TOKENS }),
    ...sizeRangeParameters,
  }),
  response: document('DcaPressure', {
    query_parameters: document('DcaPressureParameters', {
      sort_by: word(PRESSURE_SORTS),
      sort_timeframe: word(TIMEFRAMES),
      include_orders: Type.Boolean(),
      limit: Type.Integer(),
      chain: word(['mainchain']),
    }),
    count: count('Items of `tokens`'),
    tokens: Type.Array(
      document('TokenPressure', {
        token: boardToken,
        buy_order_count: count('Active BUY orders'),
        sell_order_count: count('Active SELL orders'),
        total_buy_usd: usd('Remaining amount of the BUY orders'),
        total_sell_usd: usd('Remaining amount of the SELL orders'),
        net_usd: usd('`total_buy_usd - total_sell_usd`'),
        impact: document('PressureFlows', flows),
        orders: Type.Array(dcaOrder, {
          maxItems: MAX_TOP_ORDERS,
          description: 'Empty unless `include_orders=true`.',
        }),
      }),
      { maxItems: MAX_PRESSURE_TOKENS },
    ),
  }),
});

type PressureQuery = Call<typeof getDcaPressure>['query'];
type PressureDocument = Static<(typeof getDcaPressure)['response']>;
type TokenDocument = PressureDocument['tokens'][number];

export function dcaPressureHandler({ orders, kept }: Services): Handler<typeof getDcaPressure> {
  return ({ query }) => {
    const ranges = readSizeRanges(query);
    const { current } = orders.pressure;
    const key = replyKey('dca-pressure', current, ...Object.values(query));
    return Reply.cached(kept, key, () => pressureDocument(current, query, ranges));
  };
}

function pressureDocument(
  { rows, ranking }: Pressure,
  query: PressureQuery,
  ranges: SizeRanges,
): PressureDocument {
  const tokens: TokenDocument[] = [];
  for (const i of rankOf(ranking, query.sort_by, query.sort_dir, query.sort_timeframe)) {
    if (!isWithinSizeRanges(rows[i].token, ranges)) continue;
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
    token: boardTokenDocument(token),
    buy_order_count: ranking.buyCount[i],
    sell_order_count: ranking.sellCount[i],
    total_buy_usd: ranking.totalBuyUsd[i],
    total_sell_usd: ranking.totalSellUsd[i],
    net_usd: ranking.totalBuyUsd[i] - ranking.totalSellUsd[i],
    impact: impactDocument(ranking, i, rows.length),
    orders: Array.from(shown, (order) => dcaOrderDocument(orders[order], token, ranking.nowS)),
  };
}

/** `net_usd` and `net_pct` of each timeframe, in turn (docs/definitions.md#dca-pressure). */
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
