/** The board of DCA pressure. */
import type { Parameters, TokenPressure } from '../../../client/index.js';
import { price, signedBasisPoints, signedUsd, usd } from '../../state/format.js';
import { How } from '../how.js';
import { Bars } from '../sparkline.js';
import type { Column } from '../table.js';
import { amount, Flow, rank, TokenLink } from './cells.js';
import { DcaOrders, type Span, SPAN_LABELS } from './details.js';
import type { BoardSpec, Choices } from './spec.js';

const ROWS = 50;

const SPANS = Object.keys(SPAN_LABELS).toReversed() as Span[];

/** The two spans whose figures are shown: the ranked one, and a day or, if that is the ranked one, an hour. */
const shownSpans = ({ sort_timeframe: ranked }: Choices): readonly [ranked: Span, other: Span] => [
  ranked as Span,
  ranked === '24_hr' ? '1_hr' : '24_hr',
];

/** A logarithmic scale from $1; a loss points down. */
const logOf = (flow: number): number => Math.sign(flow) * Math.log10(1 + Math.abs(flow));

/** Net flows of all spans, on one scale for all rows. @param largest the board's largest flow */
function flowBars(largest: number): Column<TokenPressure> {
  return {
    name: 'flow',
    label: `Net 5m\u201324h, log ±${usd(largest)}`,
    about: `Bars of 5m, 30m, 1h, 6h and 24h on a logarithmic scale; the longest that fits is ${usd(largest)}, the largest flow of the board`,
    kind: 'chart',
    show: ({ impact }) => (
      <Bars
        values={SPANS.map((span) => logOf(impact[`net_usd_${span}`]))}
        reach={logOf(largest)}
        label={SPANS.map(
          (span) => `${SPAN_LABELS[span]} ${signedUsd(impact[`net_usd_${span}`])}`,
        ).join(', ')}
      />
    ),
  };
}

/** A span's net flow and its impact. */
function figures(span: Span): Column<TokenPressure>[] {
  return [
    {
      name: `net_${span}`,
      label: `Net ${SPAN_LABELS[span]}`,
      kind: 'figure',
      by: ({ impact }) => impact[`net_usd_${span}`],
      show: ({ impact }) => <Flow value={impact[`net_usd_${span}`]} />,
    },
    {
      name: `pct_${span}`,
      label: `Impact ${SPAN_LABELS[span]}`,
      about:
        "How far the net flow would move the price: to the 'Price afterwards' of an order for it; 100 bp are 1%",
      kind: 'figure',
      by: ({ impact }) => impact[`net_pct_${span}`],
      show: ({ impact }) => signedBasisPoints((impact[`net_pct_${span}`] ?? NaN) / 100),
    },
  ];
}

function columnsOf(
  [ranked, other]: readonly [ranked: Span, other: Span],
  rows: readonly TokenPressure[],
): Column<TokenPressure>[] {
  return [
    rank,
    {
      name: 'token',
      label: 'Token',
      by: ({ token }) => token.symbol ?? token.address,
      show: ({ token }) => <TokenLink {...token} />,
    },
    {
      name: 'price',
      label: 'Price',
      kind: 'figure',
      by: ({ token }) => token.price_usd,
      show: ({ token }) => price(token.price_usd),
    },
    ...figures(ranked),
    flowBars(
      Math.max(
        ...rows.flatMap(({ impact }) => SPANS.map((span) => Math.abs(impact[`net_usd_${span}`]))),
      ),
    ),
    ...figures(other),
    {
      name: 'orders',
      label: 'Buys / sells',
      kind: 'figure',
      by: (row) => row.buy_order_count + row.sell_order_count,
      show: (row) => `${row.buy_order_count} / ${row.sell_order_count}`,
    },
    amount('buy', 'To buy', (row) => row.total_buy_usd),
    amount('sell', 'To sell', (row) => row.total_sell_usd),
    amount('liquidity', 'Liquidity', ({ token }) => token.liquidity_usd),
  ];
}

export const dcaPressure: BoardSpec<TokenPressure> = {
  about: 'What active DCA orders will buy and sell next, net, and how far that moves the price.',
  unit: 'tokens',
  empty: 'No token has an active DCA order.',
  choices: [
    {
      name: 'sort_timeframe',
      label: 'Ranked over',
      options: SPANS.toReversed().map((value) => ({ value, label: SPAN_LABELS[value] })),
    },
    {
      name: 'sort_by',
      label: 'by',
      options: [
        { value: 'usd', label: 'USD' },
        { value: 'impact', label: 'Impact' },
      ],
    },
    {
      name: 'sort_dir',
      label: '',
      options: [
        { value: 'desc', label: 'Buying' },
        { value: 'asc', label: 'Selling' },
      ],
    },
  ],
  columns: (choices, rows) => columnsOf(shownSpans(choices), rows),
  ranking: ({ sort_by: by, sort_dir: direction, sort_timeframe: span }) =>
    `${direction === 'asc' ? '-' : ''}${by === 'impact' ? 'pct' : 'net'}_${span}`,
  keyOf: ({ token }) => token.address,
  tokenOf: ({ token }) => token,
  details: (row, choices) => (
    <>
      <How>
        {({ pressureSteps }) => {
          const [span] = shownSpans(choices);
          return pressureSteps(row, span, SPAN_LABELS[span]);
        }}
      </How>
      <DcaOrders address={row.token.address} spans={shownSpans(choices)} />
    </>
  ),
  async load(client, choices, signal) {
    const query = { ...choices, limit: ROWS } as Parameters<'getDcaPressure'>;
    return { rows: (await client.getDcaPressure(query, { signal })).tokens };
  },
  request: (query) => ({
    method: 'GET',
    path: '/dca-pressure',
    query: { ...query, limit: String(ROWS) },
  }),
  hasPrices: true,
  reloads: true,
};
