import Type, { type TSchema } from 'typebox';
import { type Timeframe, TIMEFRAMES } from '../../compute/orders/dca-orders.js';
import {
  MAX_TOP_ORDERS,
  PRESSURE_DIRECTIONS,
  PRESSURE_SORTS,
} from '../../compute/orders/pressure.js';
import { defineEndpoint } from '../api/endpoint.js';
import { count, document, flag, most, nullable, usd, word } from '../api/schemas.js';
import { tokenRanges } from '../tokens/size-range-fields.js';
import { boardToken } from '../tokens/token-info-fields.js';
import { dcaOrder } from './dca-order-fields.js';

const MAX_TOKENS = 50;
const DEFAULT_TOKENS = 20;
const DEFAULT_ORDERS = 5;

type Field<N extends string, S> = Record<`${N}_${Timeframe}`, S>;
const netUsd = usd('What BUY orders trade less what SELL orders do, within the timeframe');
const netPct = nullable(
  Type.Number(),
  'The move of the price that this net flow would cause, percent; 0 for no flow, null without depth ' +
    'on the side that it uses up.',
);

/** `name_<timeframe>` for each timeframe. */
function byTimeframe<N extends string, S extends TSchema>(name: N, schema: S): Field<N, S> {
  return Object.fromEntries(
    TIMEFRAMES.map((timeframe) => [`${name}_${timeframe}`, schema]),
  ) as Field<N, S>;
}

export const getDcaPressure = defineEndpoint({
  operationId: 'getDcaPressure',
  method: 'GET',
  path: '/dca-pressure',
  tag: 'Orders',
  summary: 'Tokens by the pressure of their DCA orders',
  description:
    'Tokens with a record and at least one active DCA order, the largest net buying first (`desc`) or ' +
    'the largest net selling first (`asc`). Active is an order that is not closed and has something ' +
    'left; counts and totals are over all of those, flows over the ones whose price range holds the ' +
    'current price: without a price none is. A token whose `net_pct` of the timeframe is null stands ' +
    'last in either direction of `sort_by=impact`; ties stand by address ascending. The board is ' +
    'ranked anew within a second of a change of its data, and by the clock: a reply is at most 15 ' +
    'seconds old, and exact where the clock is frozen. Everything in a reply is of one moment.',
  tier: 'premium',
  quotaCost: 1,
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
      description: 'Timeframe that tokens, and their nested orders, are sorted by.',
    }),
    include_orders: flag(
      'Nests orders in each token, the largest `usd_next` of the timeframe first, ties by address.',
    ),
    order_limit: most('orders of a token; without `include_orders=true` it means nothing', {
      maximum: MAX_TOP_ORDERS,
      fallback: DEFAULT_ORDERS,
    }),
    limit: most('tokens that are listed', { maximum: MAX_TOKENS, fallback: DEFAULT_TOKENS }),
    ...tokenRanges,
  }),
  body: null,
  response: document({
    query_parameters: document({
      sort_by: word(PRESSURE_SORTS),
      sort_timeframe: word(TIMEFRAMES),
      include_orders: Type.Boolean(),
      limit: Type.Integer(),
      chain: word(['mainchain']),
    }),
    count: count('Items of `tokens`'),
    tokens: Type.Array(
      document({
        token: boardToken,
        buy_order_count: count('Active BUY orders'),
        sell_order_count: count('Active SELL orders'),
        total_buy_usd: usd('What is left of the BUY orders'),
        total_sell_usd: usd('What is left of the SELL orders'),
        net_usd: usd('`total_buy_usd - total_sell_usd`'),
        impact: document({
          ...byTimeframe('net_usd', netUsd),
          ...byTimeframe('net_pct', netPct),
        }),
        orders: Type.Array(dcaOrder, {
          maxItems: MAX_TOP_ORDERS,
          description: 'Empty unless `include_orders=true`.',
        }),
      }),
      { maxItems: MAX_TOKENS },
    ),
  }),
  errors: [],
});
