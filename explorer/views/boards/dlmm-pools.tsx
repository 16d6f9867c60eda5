/** The board of DLMM pools. */
import type { DlmmPoolRow } from '../../../client/index.js';
import { count, finePercent, NONE, percent, shortAddress, usd } from '../../state/format.js';
import { hashOf, tokenView } from '../../state/url.js';
import { How } from '../how.js';
import { amount, rank, ShareFigure } from './cells.js';
import { Address, Facts, TokenAddress } from './details.js';
import { hoursText } from './hours.js';
import type { BoardSpec } from './spec.js';

const basisPointsText = (bps: number): string => `${bps.toFixed(bps < 10 ? 2 : 0)} bp`;

/** Columns by values of `sort`. */
const RANKED_COLUMNS: Readonly<Record<string, string>> = {
  rangeyield: 'rangeYield',
  feespertvl: 'feesPerTvl',
  fees: 'fees',
  volume: 'volume',
  tvl: 'tvl',
};

const nameOf = (row: DlmmPoolRow): string => row.baseSymbol ?? shortAddress(row.baseMint);

/** Whether the base token's depth has the pool: docs/definitions.md#price-range. */
const hasMarket = (row: DlmmPoolRow): boolean => row.rangeTvl !== null;

const venueHash = (row: DlmmPoolRow): string =>
  hashOf({ ...tokenView(row.baseMint), pool: row.address });

function PoolName({ row }: { row: DlmmPoolRow }) {
  return (
    <>
      <b>
        {nameOf(row)}
        <span class="quote">/{row.quoteSymbol ?? shortAddress(row.quoteMint)}</span>
      </b>
      <span class="name">
        bin step {row.binStep}, fee {row.baseFeePct}%
      </span>
    </>
  );
}

export const dlmmPools: BoardSpec<DlmmPoolRow> = {
  about:
    "What pools earn on their liquidity in the range of recent prices. A row leads to its pool's venue on the token's map, split by market.",
  unit: 'pools',
  empty: 'No pool has data in this period.',
  span: 'period',
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
  meaning: ({ period }, nowS) => hoursText(period, 'pool', nowS),
  columns: () => [
    rank,
    {
      name: 'pool',
      label: 'Pool',
      by: (row) => row.baseSymbol ?? row.address,
      show: (row, _, toggle) =>
        hasMarket(row) ? (
          <a class="token-link" href={venueHash(row)} title={row.address}>
            <PoolName row={row} />
          </a>
        ) : (
          <button type="button" class="token-link" title={row.address} onClick={toggle}>
            <PoolName row={row} />
          </button>
        ),
    },
    {
      name: 'rangeYield',
      label: 'Range yield',
      about: 'Fees divided by the liquidity in the range of recent prices',
      kind: 'figure',
      by: (row) => row.rangeYield,
      show: (row) => <b>{finePercent(row.rangeYield)}</b>,
    },
    {
      name: 'feesPerTvl',
      label: 'Fees / TVL',
      kind: 'figure',
      by: (row) => row.feesPerAvgTvl,
      show: (row) => finePercent(row.feesPerAvgTvl),
    },
    amount('fees', 'Fees', (row) => row.fees),
    amount('volume', 'Volume', (row) => row.volume),
    amount('tvl', 'TVL', (row) => row.tvl),
    {
      name: 'inRange',
      label: 'In range',
      about: 'Share of the TVL in the range of recent prices',
      kind: 'chart',
      by: (row) => (row.rangeTvl === null ? null : row.rangeTvl / row.tvl),
      show: ({ rangeTvl, tvl }) => (
        <ShareFigure share={rangeTvl === null || tvl === 0 ? null : rangeTvl / tvl} />
      ),
    },
    {
      name: 'capture',
      label: 'Fee share',
      about: "The pool's share of the fees of all pools of its base token",
      kind: 'figure',
      by: (row) => row.captureShare,
      show: (row) => percent(row.captureShare, 0),
    },
    {
      name: 'feeBps',
      label: 'Fee paid',
      about: 'Fees over volume, in basis points',
      kind: 'figure',
      by: (row) => row.effectiveFeeBps,
      show: (row) => (row.effectiveFeeBps === null ? NONE : basisPointsText(row.effectiveFeeBps)),
    },
  ],
  ranking: ({ sort }) => RANKED_COLUMNS[sort],
  keyOf: (row) => row.address,
  tokenOf: (row) => ({
    address: row.baseMint,
    symbol: row.baseSymbol,
    name: `${row.baseSymbol}/${row.quoteSymbol} ${row.address}`,
  }),
  details: (row) => (
    <>
      <How>{({ poolSteps }) => poolSteps(row)}</How>
      <Facts
        facts={[
          ['Pool', <Address address={row.address} />],
          [
            'Depth',
            hasMarket(row) ? (
              <a href={venueHash(row)}>its venue on the map of {nameOf(row)}</a>
            ) : (
              `unknown: no market of ${nameOf(row)} has this address`
            ),
          ],
          ['Base token', <TokenAddress address={row.baseMint} symbol={row.baseSymbol} />],
          ['Quote token', <TokenAddress address={row.quoteMint} symbol={row.quoteSymbol} />],
          ['Liquidity in range', usd(row.rangeTvl)],
          ['Range yield, rebalanced every hour', finePercent(row.rangeCeiling)],
          [
            'Share of fees over share of liquidity',
            row.feeCapture === null ? NONE : `${row.feeCapture.toFixed(2)}x`,
          ],
          ['Pools of the base token', count(row.tokenPoolCount)],
        ]}
      />
    </>
  ),
  async load(client, choices, signal) {
    return { rows: (await client.getDlmmPools(choices, { signal })).data };
  },
  request: (query) => ({ method: 'GET', path: '/dlmm-pools', query }),
  reloads: true,
};
