/** The board of fee density. */
import type { FeeDensity, Parameters } from '../../../client/index.js';
import { percent } from '../../state/format.js';
import { How } from '../how.js';
import { Meter } from '../sparkline.js';
import type { Column } from '../table.js';
import { address, amount, rank, TokenLink } from './cells.js';
import { Pools } from './details.js';
import { hoursText } from './hours.js';
import type { BoardSpec } from './spec.js';

const ROWS = 100;

/** Bars of one scale. @param highest the board's highest fee density */
function meter(highest: number): Column<FeeDensity> {
  const most = percent(highest, highest < 1 ? 2 : 0);
  return {
    name: 'meter',
    label: `0 to ${most}`,
    about: `A full bar is ${most}, the highest fee density of the board`,
    kind: 'chart',
    show: (row) => <Meter share={row.fee_density / highest} />,
  };
}

export const feeDensity: BoardSpec<FeeDensity> = {
  about:
    'Fee density is volume over liquidity, not an amount of fees: the higher, the more liquidity is needed.',
  unit: 'tokens',
  empty: 'No token has volume in this window.',
  span: 'window',
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
  meaning: ({ window }, nowS) => hoursText(window, 'token', nowS),
  columns: (_, rows) => [
    { ...rank, show: (row) => row.rank },
    {
      name: 'token',
      label: 'Token',
      by: (row) => row.symbol ?? row.address,
      show: (row) => <TokenLink {...row} />,
    },
    {
      name: 'density',
      label: 'Fee density: volume / liquidity',
      kind: 'figure',
      by: (row) => row.fee_density,
      show: (row) => <b>{percent(row.fee_density, 2)}</b>,
    },
    meter(Math.max(...rows.map((row) => row.fee_density))),
    amount('volume', 'Organic volume', (row) => row.organic_volume),
    amount('liquidity', 'Liquidity', (row) => row.denom_liquidity_usd),
    address,
  ],
  ranking: () => 'density',
  keyOf: (row) => row.address,
  tokenOf: (row) => row,
  details: (row, { window }) => (
    <>
      <How>{({ densitySteps }) => densitySteps(row)}</How>
      <Pools address={row.address} window={window} />
    </>
  ),
  async load(client, choices, signal) {
    const query = { ...choices, limit: ROWS } as Parameters<'getLpCheatSheet'>;
    return { rows: (await client.getLpCheatSheet(query, { signal })).data };
  },
  request: (query) => ({
    method: 'GET',
    path: '/lp-cheat-sheet',
    query: { ...query, limit: String(ROWS) },
  }),
  reloads: true,
};
