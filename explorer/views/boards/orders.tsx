/** The board of a token's limit orders, or of its DCA orders. */
import type { DcaOrder, LimitOrder, Parameters } from '../../../client/index.js';
import {
  absoluteTime,
  age,
  CHAIN_LABELS,
  compact,
  percent,
  price,
  shortAddress,
  signedFinePercent,
  usd,
} from '../../state/format.js';
import { currentS } from '../../state/clock.js';
import { leftOf } from '../../orders/left.js';
import type { Column } from '../table.js';
import { amount, rank } from './cells.js';
import { Address, Facts, rangeText } from './details.js';
import type { BoardSpec, Choices } from './spec.js';

/** The most that the API lists. */
const MOST = { limit: 500, dca: 50 } as const;

/** Said of a list that may not be whole. */
const PARTS = {
  limit: `the ${MOST.limit} nearest`,
  dca: `the ${MOST.dca} with the largest flow`,
} as const;

/** A column of a file that is saved names the token. */
interface OfToken {
  token_address: string;
}
type LimitRow = OfToken & LimitOrder;
type DcaRow = OfToken & DcaOrder;
type OrderRow = LimitRow | DcaRow;

const leftOfRow = (row: OrderRow): number => (isDca(row) ? row.remaining_usd : leftOf(row));
const isDca = (row: OrderRow): row is DcaRow => 'dca_address' in row;
const addressOf = (row: OrderRow): string => (isDca(row) ? row.dca_address : row.order_address);

const side: Column<OrderRow> = {
  name: 'side',
  label: 'Side',
  by: ({ direction }) => direction,
  show: ({ direction }) => (
    <span class={direction === 'BUY' ? 'order-buy' : 'order-sell'}>
      {direction === 'BUY' ? 'Buys' : 'Sells'}
    </span>
  ),
};
const order: Column<OrderRow> = {
  name: 'order',
  label: 'Order',
  show: (row) => <code title={addressOf(row)}>{shortAddress(addressOf(row))}</code>,
};
const paired: Column<OrderRow> = {
  name: 'with',
  label: 'With',
  by: (row) => row.paired_symbol,
  show: (row) => row.paired_symbol,
};

const LIMIT_COLUMNS: Column<LimitRow>[] = [
  rank,
  order,
  side,
  {
    name: 'price',
    label: 'Price',
    kind: 'figure',
    by: (row) => row.usd_price,
    show: (row) => price(row.usd_price),
  },
  {
    name: 'away',
    label: 'Away',
    about: 'How far the order is from the price, on its own chain',
    kind: 'figure',
    by: ({ pct_away: away }) => Math.abs(away),
    show: ({ pct_away: away }) => signedFinePercent(away),
  },
  amount('left', 'Left', leftOf),
  {
    name: 'filled',
    label: 'Filled',
    kind: 'figure',
    by: (row) => row.pct_complete,
    show: (row) => percent(row.pct_complete, 0),
  },
  paired,
  {
    name: 'platform',
    label: 'Platform',
    by: (row) => row.platform,
    show: (row) => row.platform,
  },
  {
    name: 'chain',
    label: 'Chain',
    by: (row) => row.chain,
    show: (row) => CHAIN_LABELS[row.chain],
  },
  {
    name: 'maker',
    label: 'Maker',
    by: (row) => row.maker,
    show: (row) => <code title={row.maker}>{shortAddress(row.maker)}</code>,
  },
  {
    name: 'created',
    label: 'Age',
    kind: 'figure',
    by: (row) => currentS() - row.created_at,
    show: (row) => (
      <span title={absoluteTime(row.created_at)}>{age(currentS() - row.created_at)}</span>
    ),
  },
];

const next = (span: '24_hr' | '1_hr', label: string): Column<DcaRow> => ({
  ...amount<DcaRow>(
    `next_${span}`,
    `Next ${label}`,
    (row) => row.flow_projections[`usd_next_${span}`],
  ),
  about: `What it trades within ${label} from now; nothing while the price is out of its range`,
});

const DCA_COLUMNS: Column<DcaRow>[] = [
  rank,
  order,
  side,
  amount('left', 'Left', (row) => row.remaining_usd),
  {
    name: 'filled',
    label: 'Filled',
    kind: 'figure',
    by: (row) => row.pct_filled,
    show: (row) => percent(row.pct_filled, 0),
  },
  next('1_hr', '1h'),
  next('24_hr', '24h'),
  {
    name: 'every',
    label: 'Every',
    about: 'The time between two trades',
    kind: 'figure',
    by: (row) => row.cycle_frequency,
    show: (row) => age(row.cycle_frequency),
  },
  paired,
  {
    name: 'range',
    label: 'Price range',
    about: 'It trades only while the price is in this range',
    show: ({ price_range: { min_usd: min, max_usd: max } }) => rangeText(min, max),
  },
  {
    name: 'trades',
    label: 'Now',
    about: 'Whether the price is in its range',
    by: (row) => (row.in_active_range ? 'in range' : 'waits'),
    show: (row) => (row.in_active_range ? 'in range' : <span class="note">waits</span>),
  },
];

const limitQuery = ({ chain, token }: Choices): Parameters<'getLimitOrders'> => ({
  token_address: token,
  limit: MOST.limit,
  ...(chain === 'all' ? { chain } : {}),
});
const dcaQuery = ({ token }: Choices): Parameters<'getDcaOrders'> => ({
  token_address: token,
  limit: MOST.dca,
  sort_by: 'usd_flow',
});

const DIRECTIONS = { both: null, buys: 'BUY', sells: 'SELL' } as const;

export const orders: BoardSpec<OrderRow> = {
  isOfToken: true,
  about:
    'The active orders of a token: limit orders, and DCA orders, which trade a part at a time. The map shows both as well.',
  unit: 'orders',
  empty: 'This token has no active order of this kind.',
  choices: [
    {
      name: 'kind',
      label: '',
      options: [
        { value: 'limit', label: 'Limit orders' },
        { value: 'dca', label: 'DCA orders' },
      ],
    },
    {
      name: 'direction',
      label: 'Side',
      options: [
        { value: 'both', label: 'Both' },
        { value: 'buys', label: 'Buys' },
        { value: 'sells', label: 'Sells' },
      ],
    },
    {
      name: 'chain',
      label: 'On',
      isFor: ({ kind }) => kind === 'limit',
      options: [
        { value: 'own', label: 'Its chain' },
        { value: 'all', label: 'All chains' },
      ],
    },
  ],
  columns: ({ kind }) =>
    (kind === 'dca' ? DCA_COLUMNS : LIMIT_COLUMNS) as unknown as Column<OrderRow>[],
  ranking: ({ kind }) => (kind === 'dca' ? 'next_24_hr' : '-away'),
  keyOf: addressOf,
  tokenOf: (row) => ({ address: row.token_address, symbol: row.symbol }),
  textsOf: (row) => [
    `the order ${shortAddress(addressOf(row))}`,
    addressOf(row),
    row.paired_symbol,
    ...(isDca(row) ? [] : [row.maker, row.platform]),
  ],
  details: (row) => (
    <Facts
      facts={
        isDca(row)
          ? [
              ['Order', <Address address={row.dca_address} />],
              ['Deposited', usd(row.deposited_usd)],
              ['Left', usd(row.remaining_usd)],
              ['Next 5m', usd(row.flow_projections.usd_next_5_min)],
              ['Next 30m', usd(row.flow_projections.usd_next_30_min)],
              ['Next 6h', usd(row.flow_projections.usd_next_6_hr)],
            ]
          : [
              ['Order', <Address address={row.order_address} />],
              ['Maker', <Address address={row.maker} />],
              ['Created', absoluteTime(row.created_at)],
              ['Price of its chain now', price(row.current_price_usd)],
              [
                'Away = its price / the price - 1',
                `${price(row.usd_price)} / ${price(row.current_price_usd)} - 1 = ${signedFinePercent(row.pct_away)}`,
              ],
              ['Left, in tokens at its price', compact(leftOf(row) / row.usd_price)],
            ]
      }
    />
  ),
  async load(client, choices, signal) {
    const { kind, direction, token } = choices;
    const reply =
      kind === 'dca'
        ? await client.getDcaOrders(dcaQuery(choices), { signal })
        : await client.getLimitOrders(limitQuery(choices), { signal });
    const all = reply.orders.map((one): OrderRow => ({ token_address: token, ...one }));
    const chosen = DIRECTIONS[direction as keyof typeof DIRECTIONS];
    const rows = all.filter((row) => chosen === null || row.direction === chosen);
    const isWhole = all.length < (kind === 'dca' ? MOST.dca : MOST.limit);
    return { rows, note: noteOf(rows, isWhole ? null : PARTS[kind as keyof typeof PARTS]) };
  },
  request: (choices) => {
    const query = choices.kind === 'dca' ? dcaQuery(choices) : limitQuery(choices);
    return {
      method: 'GET',
      path: choices.kind === 'dca' ? '/dca-orders' : '/limit-orders',
      query: Object.fromEntries(Object.entries(query).map(([name, one]) => [name, String(one)])),
    };
  },
  reloads: true,
};

/** What is left of all rows, and which they are if there may be more. */
function noteOf(rows: readonly OrderRow[], part: string | null): string {
  const sum = (direction: 'BUY' | 'SELL'): string =>
    usd(
      rows.reduce(
        (total, row) => (row.direction === direction ? total + leftOfRow(row) : total),
        0,
      ),
    );
  return [`${sum('BUY')} to buy`, `${sum('SELL')} to sell`, part].filter(Boolean).join(', ');
}
