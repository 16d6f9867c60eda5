/** The board of DCA pressure. */
import type { Parameters, TokenPressure } from '../../../client/index.js';
import { price, signedBasisPoints, signedUsd } from '../../state/format.js';
import { How } from '../how.js';
import { Bars } from '../sparkline.js';
import type { Column } from '../table.js';
import { amount, Flow, rank, TokenLink } from './cells.js';
import { DcaOrders } from './details.js';
import type { BoardSpec } from './spec.js';

const ROWS = 50;

const SPANS = ['5_min', '30_min', '1_hr', '6_hr', '24_hr'] as const;
const SPAN_LABELS = {
  '5_min': '5m',
  '30_min': '30m',
  '1_hr': '1h',
  '6_hr': '6h',
  '24_hr': '24h',
} as const;

/** The meaning of an impact of 0 beside a flow: docs/definitions.md#price-impact. */
const NO_MOVE =
  "'No move': the flow takes less than half of the depth in the 1% step around the price.";

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
  columns: [
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
    {
      name: 'flow',
      label: 'Net flow, 5m to 24h',
      kind: 'chart',
      show: ({ impact }) => (
        <Bars
          values={SPANS.map((span) => impact[`net_usd_${span}`]).map(
            (flow) => Math.sign(flow) * Math.log10(1 + Math.abs(flow)),
          )}
          label={SPANS.map(
            (span) => `${SPAN_LABELS[span]} ${signedUsd(impact[`net_usd_${span}`])}`,
          ).join(', ')}
        />
      ),
    },
    ...(['1_hr', '24_hr'] as const).flatMap((span): Column<TokenPressure>[] => [
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
        about: `How far the net flow would move the price; 100 bp are 1%. ${NO_MOVE}`,
        kind: 'figure',
        isMinor: span === '1_hr',
        by: ({ impact }) => impact[`net_pct_${span}`],
        show: ({ impact }) =>
          impact[`net_pct_${span}`] === 0 && impact[`net_usd_${span}`] !== 0 ? (
            <span class="note" title={NO_MOVE}>
              no move
            </span>
          ) : (
            signedBasisPoints((impact[`net_pct_${span}`] ?? NaN) / 100)
          ),
      },
    ]),
    {
      name: 'orders',
      label: 'Buys / sells',
      kind: 'figure',
      by: (row) => row.buy_order_count + row.sell_order_count,
      show: (row) => `${row.buy_order_count} / ${row.sell_order_count}`,
    },
    amount('buy', 'To buy', (row) => row.total_buy_usd, 'minor'),
    amount('sell', 'To sell', (row) => row.total_sell_usd, 'minor'),
    amount('liquidity', 'Liquidity', ({ token }) => token.liquidity_usd, 'minor'),
  ],
  keyOf: ({ token }) => token.address,
  tokenOf: ({ token }) => token,
  details: (row) => (
    <>
      <How>{({ pressureSteps }) => pressureSteps(row)}</How>
      <DcaOrders address={row.token.address} />
    </>
  ),
  async load(client, choices, signal) {
    const asked = { ...choices, limit: ROWS } as Parameters<'getDcaPressure'>;
    return { rows: (await client.getDcaPressure(asked, { signal })).tokens };
  },
  request: (query) => ({
    method: 'GET',
    path: '/dca-pressure',
    query: { ...query, limit: String(ROWS) },
  }),
  reloads: true,
};
