/** `limit_orders`: limit orders around the price of a token. */
import { isoOf } from '../../../compute/time.js';
import { chainKey, number, text, usd, word } from '../../api/schemas.js';
import Type from '../../api/type.js';
import { rows, token } from '../arguments.js';
import { ToolError } from '../failures.js';
import { defineTool } from '../tool.js';
import { name, percent, price, usd as usdText } from '../words.js';
import { ORDERS_TOKEN_FIELDS, ordersTokenFields, ordersTokenLine } from '../orders-token.js';

const USUAL_ORDERS = 20;
const MAX_ORDERS = 100;
/** What a request reads: sums are of all orders in the range, up to this many. */
const READ_ORDERS = 500;
const USUAL_WITHIN_PCT = 10;
const MAX_WITHIN_PCT = 99;

export const limitOrders = defineTool({
  name: 'limit_orders',
  title: 'Limit orders',
  description:
    'On-chain limit orders of a token within some percent of its price, nearest first, with their sums on each side.',
  input: {
    token,
    within_pct: Type.Optional(
      Type.Number({
        description: `Distance from the price, percent, above 0 and up to ${MAX_WITHIN_PCT}. Default: ${USUAL_WITHIN_PCT}.`,
      }),
    ),
    side: Type.Optional(
      word(['buy', 'sell'], { description: 'buy is support, sell is resistance. Default: both.' }),
    ),
    limit: rows('orders', MAX_ORDERS, USUAL_ORDERS),
  },
  output: {
    ...ORDERS_TOKEN_FIELDS,
    within_pct: number('Distance from the price, percent.'),
    buy_usd: usd('All buy orders in the range'),
    sell_usd: usd('All sell orders in the range'),
    order_count: Type.Integer({
      description: 'Orders in the range, of the side that was asked for.',
    }),
    orders: Type.Array(
      Type.Object({
        side: text('buy or sell.'),
        price_usd: usd('Price of the order'),
        away_pct: number('Distance from the price, percent; below 0 under it.'),
        remaining_usd: usd('What is left to trade'),
        filled_pct: number('Filled, percent.'),
        platform: text('Where it rests.'),
        pair: text('The tokens that it exchanges.'),
        chain: chainKey,
        created: text('When it was made, RFC 3339.'),
      }),
    ),
  },
  async run({ side, within_pct: within = USUAL_WITHIN_PCT, limit = USUAL_ORDERS, ...given }, call) {
    if (!(within > 0 && within <= MAX_WITHIN_PCT)) {
      throw new ToolError(
        `within_pct: expected a percentage above 0 and up to ${MAX_WITHIN_PCT}; was ${within}.`,
      );
    }
    const { address } = await call.client.findToken(given.token, call);
    const reply = await call.client.getLimitOrders(
      {
        token_address: address,
        low_pct_change: -within / 100,
        high_pct_change: within / 100,
        limit: READ_ORDERS,
      },
      call,
    );
    const { token: found, orders } = reply;
    const direction = side?.toUpperCase();
    const wanted = orders.filter((order) => side === undefined || order.direction === direction);
    const shown = wanted.slice(0, limit);
    const sumOf = (field: 'usd_support_amount' | 'usd_resistance_amount') =>
      Math.round(orders.reduce((sum, order) => sum + 100 * order[field], 0)) / 100;
    const buyUsd = sumOf('usd_support_amount');
    const sellUsd = sumOf('usd_resistance_amount');
    const isCut = orders.length === READ_ORDERS;
    return {
      head: [
        ordersTokenLine(found),
        `Limit orders within ${percent(within)}: ${usdText(buyUsd)} to buy, ${usdText(sellUsd)} to sell.`,
      ],
      list: {
        field: 'orders',
        noun: 'orders',
        less: 'a smaller within_pct, one side, or a smaller limit',
        total: wanted.length,
        columns: ['side', 'price', 'away', 'left', 'filled', 'platform', 'pair', 'created'],
        rows: shown.map((order) => [
          order.direction.toLowerCase(),
          price(order.usd_price),
          percent(100 * order.pct_away),
          usdText(order.usd_support_amount + order.usd_resistance_amount),
          percent(100 * order.pct_complete),
          name(order.platform),
          `${name(order.symbol)}/${name(order.paired_symbol)}`,
          isoOf(order.created_at),
        ]),
      },
      foot: isCut
        ? [`Only the ${READ_ORDERS} orders nearest to the price were read; sums are of these.`]
        : [],
      data: {
        ...ordersTokenFields(found),
        within_pct: within,
        buy_usd: buyUsd,
        sell_usd: sellUsd,
        order_count: wanted.length,
        orders: shown.map((order) => ({
          side: order.direction.toLowerCase(),
          price_usd: order.usd_price,
          away_pct: 100 * order.pct_away,
          remaining_usd: order.usd_support_amount + order.usd_resistance_amount,
          filled_pct: 100 * order.pct_complete,
          platform: name(order.platform),
          pair: `${name(order.symbol)}/${name(order.paired_symbol)}`,
          chain: order.chain,
          created: isoOf(order.created_at),
        })),
      },
    };
  },
});
