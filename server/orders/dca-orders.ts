/** GET /dca-orders, answered from memory. */
import Type, { type Static } from '../api/type.js';
import type { DcaOrder } from '../../compute/orders/dca-orders.js';
import { LargestOrders } from '../../compute/orders/largest-orders.js';
import { defineEndpoint, type Handler } from '../api/endpoint.js';
import { Reply, addDataTime, replyKey } from '../api/replies.js';
import { addressParameter, count, document, most, tokenAddress, word } from '../api/schemas.js';
import { whenReady } from '../board.js';
import {
  isWithinSizeRanges,
  ordersToken,
  ordersTokenDocument,
  readSizeRanges,
  sizeRangeParameters,
} from '../tokens/token-fields.js';
import { currentPriceUsd, dataTime, type LiveToken } from '../tokens/token-table.js';
import { Turns } from '../../storage/turns.js';
import { dcaOrder, dcaOrderDocument } from './order-documents.js';
import type { Services } from '../services.js';

const MAX_ORDERS = 50;
const DEFAULT_ORDERS = 20;
const SORTS = ['pct_impact', 'usd_flow'] as const;
type DcaOrdersSort = (typeof SORTS)[number];

export const getDcaOrders = defineEndpoint({
  operationId: 'getDcaOrders',
  method: 'GET',
  path: '/dca-orders',
  tag: 'Orders',
  summary: 'DCA orders of one token',
  description:
    'Active DCA orders of a mint, inside or outside their price range, with what they will trade from now on. An ' +
    'order is active if it is not closed and has something left to trade. The list is empty for a token ' +
    'outside a requested range. A token without a record is a 404 and is not queued.',
  dataTime: true,
  chain: { kind: 'address', at: { in: 'query', name: 'token_address' }, supported: ['mainchain'] },
  query: Type.Object({
    token_address: addressParameter,
    sort_by: word(SORTS, {
      default: 'pct_impact',
      description:
        "`pct_impact`: by the size of the price move that the order's next 24 hours would cause on their own, as " +
        '`net_pct` of `/dca-pressure` has it; orders without depth to trade against come last. `usd_flow`: by `usd_next_24_hr`. Largest first, ' +
        'ties by address.',
    }),
    ...sizeRangeParameters,
    limit: most('orders', { maximum: MAX_ORDERS, fallback: DEFAULT_ORDERS }),
  }),
  response: document('DcaOrders', {
    query_parameters: document('DcaOrdersParameters', {
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

/** Orders ranked between two checks of the clock: well under a millisecond's work. */
const ORDERS_AT_ONCE = 2_000;

type DcaOrdersDocument = Static<(typeof getDcaOrders)['response']>;

interface OrdersRequest {
  token: LiveToken;
  /** The token's orders; none if it lies outside a range. */
  orders: readonly DcaOrder[];
  sort: DcaOrdersSort;
  limit: number;
  nowS: number;
}

const NONE: readonly DcaOrder[] = [];

export function dcaOrdersHandler({
  tokens,
  orders,
  clock,
  kept,
}: Services): Handler<typeof getDcaOrders> {
  return ({ token: requested, query, exchange }) => {
    const ranges = readSizeRanges(query);
    orders.dca.checkReadable();
    return whenReady(tokens.known(requested), (token) => {
      addDataTime(exchange, dataTime(token));
      const { details, revision } = token;
      const isInRange = isWithinSizeRanges(token, ranges);
      const own = isInRange ? orders.dca.orders(details.address) : NONE;
      const nowS = clock.nowS();
      const { sort_by: sort, limit } = query;
      const key = replyKey('dca-orders', details.tokenId, revision, own, sort, limit, nowS);
      return Reply.cached(kept, key, () =>
        // The token may change between turns; the reply uses its present state.
        dcaOrdersDocument({ token: { ...token }, orders: own, sort, limit, nowS }),
      );
    });
  };
}

function dcaOrdersDocument({
  token,
  orders,
  sort,
  limit,
  nowS,
}: OrdersRequest): DcaOrdersDocument | Promise<DcaOrdersDocument> {
  const state = { priceUsd: currentPriceUsd(token), ladder: token.newest?.spot ?? null, nowS };
  const largest = new LargestOrders(sort, state, limit);
  const isMany = orders.length > ORDERS_AT_ONCE;
  return whenReady(isMany ? addInTurns(largest, orders) : largest.add(orders), () => ({
    query_parameters: {
      token_address: token.details.address,
      sort_by: sort,
      limit,
      chain: 'mainchain',
    },
    token: ordersTokenDocument(token),
    count: largest.orders.length,
    orders: largest.orders.map((order) => dcaOrderDocument(order, token, nowS)),
  }));
}

async function addInTurns(largest: LargestOrders, orders: readonly DcaOrder[]): Promise<void> {
  const turns = new Turns();
  for (let from = 0; from < orders.length; from += ORDERS_AT_ONCE) {
    largest.add(orders, from, Math.min(from + ORDERS_AT_ONCE, orders.length));
    await turns.take();
  }
}
