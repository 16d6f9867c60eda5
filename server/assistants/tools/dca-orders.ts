/** `dca_orders`: recurring orders of a token, and what they will trade. */
import { number, nullable, text, usd } from '../../api/schemas.js';
import Type from '../../api/type.js';
import { rows, token } from '../arguments.js';
import { ORDERS_TOKEN_FIELDS, ordersTokenFields, ordersTokenLine } from '../orders-token.js';
import { defineTool } from '../tool.js';
import { ageText, name, percent, price, usd as usdText } from '../words.js';

const USUAL_ORDERS = 20;
const MAX_ORDERS = 50;

export const dcaOrders = defineTool({
  name: 'dca_orders',
  title: 'DCA orders',
  description:
    'Recurring (dollar-cost-average) orders of a token on mainchain, largest flow first: what each has left, its price ' +
    'range, and what it will trade in the next hour and 24 hours.',
  input: { token, limit: rows('orders', MAX_ORDERS, USUAL_ORDERS) },
  output: {
    ...ORDERS_TOKEN_FIELDS,
    orders: Type.Array(
      Type.Object({
        side: text('buy or sell.'),
        pair: text('The tokens that it exchanges.'),
        remaining_usd: usd('What is left to trade'),
        filled_pct: nullable(number('Filled, percent.')),
        cycle_s: number('Time between its trades, seconds.'),
        active: Type.Boolean({ description: 'Whether the price is in its range: it trades now.' }),
        min_price_usd: nullable(usd('Lower end of its price range'), 'null: none.'),
        max_price_usd: nullable(usd('Upper end of its price range'), 'null: none.'),
        next_1h_usd: usd('What it will trade in the next hour'),
        next_24h_usd: usd('What it will trade in the next 24 hours'),
      }),
    ),
  },
  async run({ limit = USUAL_ORDERS, ...given }, call) {
    const { address } = await call.client.findToken(given.token, call);
    const reply = await call.client.getDcaOrders(
      { token_address: address, sort_by: 'usd_flow', limit },
      call,
    );
    const { token: found, orders } = reply;
    return {
      head: [
        ordersTokenLine(found),
        orders.length === 0
          ? 'It has no active DCA order.'
          : 'DCA orders, by what they will trade in the next 24 hours:',
      ],
      list: {
        field: 'orders',
        noun: 'orders',
        less: 'a smaller limit',
        columns: [
          'side',
          'pair',
          'left',
          'filled',
          'every',
          'price range',
          'trades now',
          'next hour',
          'next 24 hours',
        ],
        rows: orders.map(({ price_range: range, flow_projections: flows, ...order }) => [
          order.direction.toLowerCase(),
          `${name(order.symbol)}/${name(order.paired_symbol)}`,
          usdText(order.remaining_usd),
          percent(percentOf(order.pct_filled)),
          ageText(order.cycle_frequency),
          range.min_usd === null && range.max_usd === null
            ? 'any'
            : `${range.min_usd === null ? '0' : price(range.min_usd)} to ${range.max_usd === null ? 'any' : price(range.max_usd)}`,
          order.in_active_range ? 'yes' : 'no',
          usdText(flows.usd_next_1_hr),
          usdText(flows.usd_next_24_hr),
        ]),
      },
      foot:
        orders.length < limit
          ? []
          : [`The ${limit} orders with the largest flow; there may be more.`],
      data: {
        ...ordersTokenFields(found),
        orders: orders.map(({ price_range: range, flow_projections: flows, ...order }) => ({
          side: order.direction.toLowerCase(),
          pair: `${name(order.symbol)}/${name(order.paired_symbol)}`,
          remaining_usd: order.remaining_usd,
          filled_pct: percentOf(order.pct_filled),
          cycle_s: order.cycle_frequency,
          active: order.in_active_range,
          min_price_usd: range.min_usd,
          max_price_usd: range.max_usd,
          next_1h_usd: flows.usd_next_1_hr,
          next_24h_usd: flows.usd_next_24_hr,
        })),
      },
    };
  },
});

/** The percentage of a fraction. */
const percentOf = (fraction: number | null): number | null =>
  fraction === null ? null : 100 * fraction;
