/** The boards: what each asks, and its columns. */
import type { components, FathomClient, Result } from '../../../client/index.js';
import {
  NONE,
  percent,
  price,
  shortAddress,
  signedPercent,
  signedUsd,
  usd,
} from '../state/format.js';
import type { ApiRequest } from '../state/requests.js';
import { type BoardName, hashOf, tokenView } from '../state/url.js';
import { Bars, Meter } from './sparkline.js';
import type { Column } from './table.js';

type Choices = Readonly<Record<string, string>>;

interface Choice {
  /** The parameter. */
  name: string;
  label: string;
  /** The first is the default. */
  options: readonly { value: string; label: string }[];
}

export interface BoardSpec<Row> {
  title: string;
  about: string;
  /** What its rows are. */
  unit: string;
  /** What it says without rows. */
  empty: string;
  choices: readonly Choice[];
  columns: readonly Column<Row>[];
  keyOf: (row: Row) => string;
  load: (
    client: FathomClient,
    choices: Choices,
    signal: AbortSignal,
  ) => Promise<{ rows: readonly Row[]; note?: string }>;
  request: (choices: Choices, rows: readonly Row[]) => ApiRequest;
  /** Whether it is renewed by itself. */
  renews: boolean;
}

interface Named {
  address: string;
  symbol?: string | null;
  name?: string | null;
}

/** The token as a link to its depth. */
function TokenLink({ address, symbol, name }: Named) {
  return (
    <a class="token-link" href={hashOf(tokenView(address))} title={address}>
      <b>{symbol ?? shortAddress(address)}</b>
      {typeof name === 'string' && <span class="name">{name}</span>}
    </a>
  );
}

const rank = {
  name: 'rank',
  label: '#',
  kind: 'figure',
  show: (_: unknown, at: number) => at,
} as const;

/** An amount with its sign in its colour. */
function Flow({ value }: { value: number }) {
  return <span class={value < 0 ? 'down' : value > 0 ? 'up' : ''}>{signedUsd(value)}</span>;
}

type ScoreRow = Result<'getTopScores'>['tokens'][number];

const scores: BoardSpec<ScoreRow> = {
  title: 'Scores',
  about: 'How much depth lies near the price, and how evenly on both sides: 0 to 100.',
  unit: 'tokens',
  empty: 'No token of this chain has a score that rests on recent depth.',
  choices: [
    {
      name: 'chain',
      label: 'Chain',
      options: [
        { value: 'mainchain', label: 'Mainchain' },
        { value: 'evmchain', label: 'EVM' },
        { value: 'all', label: 'All' },
      ],
    },
  ],
  columns: [
    rank,
    {
      name: 'token',
      label: 'Token',
      by: (row) => row.symbol ?? row.address,
      show: (row) => <TokenLink {...row} />,
    },
    {
      name: 'score',
      label: 'Score',
      kind: 'figure',
      by: (row) => row.service_score,
      show: (row) => <b>{row.service_score.toFixed(1)}</b>,
    },
    {
      name: 'meter',
      label: '',
      kind: 'chart',
      isMinor: true,
      show: (row) => <Meter share={row.service_score / 100} />,
    },
    {
      name: 'price',
      label: 'Price',
      kind: 'figure',
      by: (row) => row.service_current_price,
      show: (row) => price(row.service_current_price),
    },
    {
      name: 'address',
      label: 'Address',
      isMinor: true,
      show: (row) => <code title={row.address}>{shortAddress(row.address)}</code>,
    },
  ],
  keyOf: (row) => row.address,
  async load(client, { chain }, signal) {
    const found = await client.getTopScores({ chain: chain as 'all' }, { signal });
    const note = found.stale_count === 0 ? undefined : `${found.stale_count} left out as stale`;
    return { rows: found.tokens, note };
  },
  request: (query) => ({ method: 'GET', path: '/top-scores', query }),
  renews: true,
};

type PressureRow = Result<'getDcaPressure'>['tokens'][number];
const SPANS = ['5_min', '30_min', '1_hr', '6_hr', '24_hr'] as const;
const SPAN_LABELS = {
  '5_min': '5 min',
  '30_min': '30 min',
  '1_hr': '1 h',
  '6_hr': '6 h',
  '24_hr': '24 h',
} as const;

const dcaPressure: BoardSpec<PressureRow> = {
  title: 'DCA pressure',
  about: 'What running DCA orders will buy and sell next, net, and how far that moves the price.',
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
      label: 'Net flow, 5 min to 24 h',
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
    ...(['1_hr', '24_hr'] as const).flatMap((span): Column<PressureRow>[] => [
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
        kind: 'figure',
        isMinor: span === '1_hr',
        by: ({ impact }) => impact[`net_pct_${span}`],
        show: ({ impact }) => signedPercent((impact[`net_pct_${span}`] ?? NaN) / 100, 2),
      },
    ]),
    {
      name: 'orders',
      label: 'Buys / sells',
      kind: 'figure',
      by: (row) => row.buy_order_count + row.sell_order_count,
      show: (row) => `${row.buy_order_count} / ${row.sell_order_count}`,
    },
    {
      name: 'buy',
      label: 'To buy',
      kind: 'figure',
      isMinor: true,
      by: (row) => row.total_buy_usd,
      show: (row) => usd(row.total_buy_usd),
    },
    {
      name: 'sell',
      label: 'To sell',
      kind: 'figure',
      isMinor: true,
      by: (row) => row.total_sell_usd,
      show: (row) => usd(row.total_sell_usd),
    },
    {
      name: 'liquidity',
      label: 'Liquidity',
      kind: 'figure',
      isMinor: true,
      by: ({ token }) => token.liquidity_usd,
      show: ({ token }) => usd(token.liquidity_usd),
    },
  ],
  keyOf: ({ token }) => token.address,
  async load(client, choices, signal) {
    const asked = { ...choices, limit: PRESSURE_ROWS } as Parameters<
      FathomClient['getDcaPressure']
    >[0];
    return { rows: (await client.getDcaPressure(asked, { signal })).tokens };
  },
  request: (query) => ({
    method: 'GET',
    path: '/dca-pressure',
    query: { ...query, limit: String(PRESSURE_ROWS) },
  }),
  renews: true,
};
const PRESSURE_ROWS = 50;

type PoolRow = Result<'getDlmmPools'>['data'][number];

const dlmmPools: BoardSpec<PoolRow> = {
  title: 'DLMM pools',
  about: 'What pools earn on the liquidity that stands in the range of recent prices.',
  unit: 'pools',
  empty: 'No pool has hours in this period.',
  choices: [
    {
      name: 'period',
      label: 'Period',
      options: ['1h', '2h', '4h', '12h', '24h'].map((value) => ({ value, label: value })),
    },
    {
      name: 'sort',
      label: 'Ranked by',
      options: [
        { value: 'rangeyield', label: 'Range yield' },
        { value: 'feespertvl', label: 'Fees / TVL' },
        { value: 'fees', label: 'Fees' },
        { value: 'volume', label: 'Volume' },
        { value: 'tvl', label: 'TVL' },
      ],
    },
  ],
  columns: [
    rank,
    {
      name: 'pool',
      label: 'Pool',
      by: (row) => row.baseSymbol ?? row.address,
      show: (row) => (
        <a class="token-link" href={hashOf(tokenView(row.baseMint))} title={row.address}>
          <b>
            {row.baseSymbol ?? shortAddress(row.baseMint)}
            <span class="quote">/{row.quoteSymbol ?? shortAddress(row.quoteMint)}</span>
          </b>
          <span class="name">
            step {row.binStep} · {row.baseFeePct}%
          </span>
        </a>
      ),
    },
    {
      name: 'rangeYield',
      label: 'Range yield',
      about: 'Fees over the liquidity in the range of recent prices',
      kind: 'figure',
      by: (row) => row.rangeYield,
      show: (row) => <b>{percent(row.rangeYield, 2)}</b>,
    },
    {
      name: 'feesPerTvl',
      label: 'Fees / TVL',
      kind: 'figure',
      by: (row) => row.feesPerAvgTvl,
      show: (row) => percent(row.feesPerAvgTvl, 3),
    },
    {
      name: 'fees',
      label: 'Fees',
      kind: 'figure',
      by: (row) => row.fees,
      show: (row) => usd(row.fees),
    },
    {
      name: 'volume',
      label: 'Volume',
      kind: 'figure',
      by: (row) => row.volume,
      show: (row) => usd(row.volume),
    },
    {
      name: 'tvl',
      label: 'TVL',
      kind: 'figure',
      by: (row) => row.tvl,
      show: (row) => usd(row.tvl),
    },
    {
      name: 'inRange',
      label: 'In range',
      about: 'Part of the TVL that stands in the range of recent prices',
      kind: 'chart',
      isMinor: true,
      by: (row) => (row.rangeTvl === null ? null : row.rangeTvl / row.tvl),
      show: (row) => <Meter share={(row.rangeTvl ?? 0) / (row.tvl || 1)} />,
    },
    {
      name: 'capture',
      label: 'Volume share',
      about: "The pool's part of the volume of all pools of its base token",
      kind: 'figure',
      isMinor: true,
      by: (row) => row.captureShare,
      show: (row) => percent(row.captureShare, 0),
    },
    {
      name: 'feeBps',
      label: 'Fee',
      about: 'Effective fee in basis points',
      kind: 'figure',
      isMinor: true,
      by: (row) => row.effectiveFeeBps,
      show: (row) => (row.effectiveFeeBps === null ? NONE : `${row.effectiveFeeBps.toFixed(0)} bp`),
    },
  ],
  keyOf: (row) => row.address,
  async load(client, choices, signal) {
    return { rows: (await client.getDlmmPools(choices, { signal })).data };
  },
  request: (query) => ({ method: 'GET', path: '/dlmm-pools', query }),
  renews: true,
};

type FeeRow = Result<'getLpCheatSheet'>['data'][number];

const feeDensity: BoardSpec<FeeRow> = {
  title: 'Fee density',
  about: 'Volume over the liquidity near the price: where a provider of liquidity is needed.',
  unit: 'tokens',
  empty: 'No token has volume in this window.',
  choices: [
    {
      name: 'window',
      label: 'Window',
      options: ['1h', '6h', '24h'].map((value) => ({ value, label: value })),
    },
    {
      name: 'denominator',
      label: 'Liquidity',
      options: [
        { value: 'near', label: 'Near the price' },
        { value: 'bin10', label: '±10 bins' },
        { value: 'range', label: 'Range of prices' },
      ],
    },
  ],
  columns: [
    { ...rank, show: (row) => row.rank },
    {
      name: 'token',
      label: 'Token',
      by: (row) => row.symbol ?? row.address,
      show: (row) => <TokenLink {...row} />,
    },
    {
      name: 'density',
      label: 'Fee density',
      kind: 'figure',
      by: (row) => row.fee_density,
      show: (row) => <b>{percent(row.fee_density, 2)}</b>,
    },
    {
      name: 'meter',
      label: '',
      kind: 'chart',
      isMinor: true,
      show: (row) => <Meter share={Math.log10(1 + 9 * Math.min(1, row.fee_density))} />,
    },
    {
      name: 'volume',
      label: 'Organic volume',
      kind: 'figure',
      by: (row) => row.organic_volume,
      show: (row) => usd(row.organic_volume),
    },
    {
      name: 'liquidity',
      label: 'Liquidity',
      kind: 'figure',
      by: (row) => row.denom_liquidity_usd,
      show: (row) => usd(row.denom_liquidity_usd),
    },
    {
      name: 'address',
      label: 'Address',
      isMinor: true,
      show: (row) => <code title={row.address}>{shortAddress(row.address)}</code>,
    },
  ],
  keyOf: (row) => row.address,
  async load(client, choices, signal) {
    const asked = { ...choices, limit: 100 } as Parameters<FathomClient['getLpCheatSheet']>[0];
    return { rows: (await client.getLpCheatSheet(asked, { signal })).data };
  },
  request: (query) => ({
    method: 'GET',
    path: '/lp-cheat-sheet',
    query: { ...query, limit: '100' },
  }),
  renews: true,
};

type Holders = components['schemas']['BatchWhaleActivity'];
/** A token of the scores with what its holders did; amounts are in tokens. */
interface WhaleRow extends Holders {
  symbol: string | null;
  priceUsd: number | null;
}
/** Most mints that one request takes. */
const BATCH = 10;
const WHALE_TOKENS = 20;

/** Net flow of the tier and window in USD; null: unknown. */
function netUsd({ summary, priceUsd }: WhaleRow, window: '1d' | '7d' | '30d'): number | null {
  const net = summary?.net_flow?.top50?.[window]?.net ?? null;
  return net === null || priceUsd === null ? null : net * priceUsd;
}

const whales: BoardSpec<WhaleRow> = {
  title: 'Whales',
  about:
    'What the 50 largest holders of the best-scored tokens did. Loading it counts as a request a token, so it is not renewed by itself.',
  unit: 'tokens',
  empty: 'No token of the scores has holder snapshots.',
  choices: [],
  columns: [
    rank,
    {
      name: 'token',
      label: 'Token',
      by: (row) => row.symbol ?? row.token_address,
      show: (row) => <TokenLink address={row.token_address} symbol={row.symbol} />,
    },
    {
      name: 'days',
      label: 'Net flow by day, 30 days',
      kind: 'chart',
      show: (row) => (
        <Bars
          values={(row.sparkline?.top50 ?? []).map(({ net }) => net ?? 0)}
          label={`Net flow of ${row.symbol ?? row.token_address} by day`}
        />
      ),
    },
    ...(['1d', '7d', '30d'] as const).map((window): Column<WhaleRow> => ({
      name: `net_${window}`,
      label: `Net ${window}`,
      kind: 'figure',
      by: (row) => netUsd(row, window),
      show: (row) => {
        const net = netUsd(row, window);
        return net === null ? NONE : <Flow value={net} />;
      },
    })),
    {
      name: 'accumulating',
      label: 'Accumulating 7d',
      about: 'Of the 50 largest holders, those that hold more than 7 days ago',
      kind: 'figure',
      by: (row) => row.summary?.accumulating?.top50?.['7d'] ?? null,
      show: (row) => row.summary?.accumulating?.top50?.['7d'] ?? NONE,
    },
    {
      name: 'new',
      label: 'New 7d',
      about: 'Of the 50 largest holders, those that held nothing 7 days ago',
      kind: 'figure',
      isMinor: true,
      by: (row) => row.summary?.new_wallets?.top50?.['7d'] ?? null,
      show: (row) => row.summary?.new_wallets?.top50?.['7d'] ?? NONE,
    },
  ],
  keyOf: (row) => row.token_address,
  async load(client, _, signal) {
    const { tokens } = await client.getTopScores({}, { signal });
    const best = tokens.slice(0, WHALE_TOKENS);
    const found: Holders[] = [];
    for (let at = 0; at < best.length; at += BATCH) {
      const token_addresses = best.slice(at, at + BATCH).map(({ address }) => address);
      found.push(...(await client.postWhaleActivity({ token_addresses }, { signal })).tokens);
    }
    const rows = found
      .filter((one) => one.has_coverage)
      .map((one) => {
        const token = best.find(({ address }) => address === one.token_address);
        return {
          ...one,
          symbol: token?.symbol ?? null,
          priceUsd: token?.service_current_price ?? null,
        };
      });
    return { rows };
  },
  request: (_, rows) => ({
    method: 'POST',
    path: '/whale-activity',
    query: {},
    body: { token_addresses: rows.slice(0, BATCH).map((row) => row.token_address) },
  }),
  renews: false,
};

export const BOARD_SPECS = {
  scores,
  'dca-pressure': dcaPressure,
  'dlmm-pools': dlmmPools,
  'fee-density': feeDensity,
  whales,
} as const satisfies Record<BoardName, unknown>;
