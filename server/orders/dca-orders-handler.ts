/** GET /dca-orders, from memory. */
import type { Static } from 'typebox';
import type { DcaOrder } from '../../compute/orders/dca-orders.js';
import { LargestOrders } from '../../compute/orders/largest-orders.js';
import type { Handler } from '../api/endpoint.js';
import { KeptReplies, type KeptReply, Versions } from '../api/replies.js';
import type { Clock } from '../clock.js';
import { knownToken } from '../tokens/known-token.js';
import { currentPriceUsd, type LiveToken } from '../tokens/token-table.js';
import type { LiveTokens } from '../tokens/live-tokens.js';
import { ordersTokenInfo } from '../tokens/token-info.js';
import { Turns } from '../turns.js';
import { dcaOrderDocument } from './dca-order-document.js';
import type { DcaOrdersSort, getDcaOrders } from './dca-orders.js';
import { MAX_KEPT_ORDERS, REPLY_OVERHEAD_ORDERS } from './kept-orders.js';
import type { OrderFlow } from './order-flow.js';
import { isWithinRanges, readTokenRanges } from './token-ranges.js';

/** Orders that are looked at between two looks at the clock: well under a millisecond's work. */
const ORDERS_AT_ONCE = 2_000;

export interface DcaOrdersServices {
  tokens: LiveTokens;
  orders: Pick<OrderFlow, 'orderBook'>;
  clock: Clock;
}

type DcaOrdersDocument = Static<(typeof getDcaOrders)['response']>;
type DcaOrdersReply = KeptReply<DcaOrdersDocument>;

interface Wanted {
  token: LiveToken;
  /** Those of the token; none where it lies outside a range. */
  orders: readonly DcaOrder[];
  sort: DcaOrdersSort;
  limit: number;
  nowS: number;
}

const NONE: readonly DcaOrder[] = [];

/** Makes the handler of GET /dca-orders. */
export function dcaOrdersHandler(services: DcaOrdersServices): Handler<typeof getDcaOrders> {
  const { tokens: market, orders, clock } = services;
  const replies = new DcaReplies();
  return ({ token: asked, query }) => {
    const ranges = readTokenRanges(query);
    const reply = (token: LiveToken): DcaOrdersReply | Promise<DcaOrdersReply> =>
      replies.get({
        token,
        orders: isWithinRanges(token, ranges)
          ? orders.orderBook.orders(token.details.address)
          : NONE,
        sort: query.sort_by,
        limit: query.limit,
        nowS: clock.nowS(),
      });
    const token = knownToken(market, asked);
    return token instanceof Promise ? token.then(reply) : reply(token);
  };
}

/** Replies, each made once for as long as nothing of it changes. */
class DcaReplies {
  private readonly versions = new Versions();
  private readonly kept = new KeptReplies<DcaOrdersDocument>({
    sizeOf: ({ orders }) => orders.length + REPLY_OVERHEAD_ORDERS,
    maxSize: MAX_KEPT_ORDERS,
  });
  /** Replies on tokens of many orders that are being made. */
  private readonly inWork = new Map<string, Promise<DcaOrdersReply>>();

  get(wanted: Wanted): DcaOrdersReply | Promise<DcaOrdersReply> {
    const key = this.keyOf(wanted);
    const known = this.kept.find(key) ?? this.inWork.get(key);
    if (known !== undefined) return known;
    const { orders } = wanted;
    if (orders.length <= ORDERS_AT_ONCE) {
      const largest = rankingOf(wanted);
      largest.show(orders);
      return this.kept.put(key, documentOf(wanted, largest.orders));
    }
    const making = this.makeInTurns(key, wanted).finally(() => this.inWork.delete(key));
    this.inWork.set(key, making);
    return making;
  }

  private async makeInTurns(key: string, { token, ...wanted }: Wanted): Promise<DcaOrdersReply> {
    // The token's state of now: others may follow while the orders are looked at.
    const now: Wanted = { ...wanted, token: { ...token } };
    const largest = rankingOf(now);
    const { orders } = now;
    const turns = new Turns();
    for (let from = 0; from < orders.length; from += ORDERS_AT_ONCE) {
      largest.show(orders, from, Math.min(from + ORDERS_AT_ONCE, orders.length));
      await turns.take();
    }
    return this.kept.put(key, documentOf(now, largest.orders));
  }

  private keyOf({ token, orders, sort, limit, nowS }: Wanted): string {
    const { details, revision } = token;
    return [details.tokenId, revision, this.versions.of(orders), sort, limit, nowS].join(' ');
  }
}

function rankingOf({ token, sort, limit, nowS }: Wanted): LargestOrders {
  const state = { priceUsd: currentPriceUsd(token), ladder: token.newest?.spot ?? null, nowS };
  return new LargestOrders(sort, state, limit);
}

function documentOf(
  { token, sort, limit, nowS }: Wanted,
  orders: readonly DcaOrder[],
): DcaOrdersDocument {
  return {
    query_parameters: {
      token_address: token.details.address,
      sort_by: sort,
      limit,
      chain: 'mainchain',
    },
    token: ordersTokenInfo(token),
    count: orders.length,
    orders: orders.map((order) => dcaOrderDocument(order, token, nowS)),
  };
}
