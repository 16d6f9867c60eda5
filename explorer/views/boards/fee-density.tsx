/** The board of fee density. */
import type { FeeDensity, Parameters } from '../../../client/index.js';
import { percent } from '../../state/format.js';
import { How } from '../how.js';
import { Meter } from '../sparkline.js';
import { address, amount, rank, TokenLink } from './cells.js';
import { Pools } from './details.js';
import type { BoardSpec } from './spec.js';

const ROWS = 100;

export const feeDensity: BoardSpec<FeeDensity> = {
  about:
    'Volume divided by the liquidity near the price: the higher, the more liquidity is needed.',
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
      label: 'Of 100%, log scale',
      about: 'The bar is full at 100%, half full at 24%, a quarter full at 9%',
      kind: 'chart',
      isMinor: true,
      show: (row) => <Meter share={Math.log10(1 + 9 * Math.min(1, row.fee_density))} />,
    },
    amount('volume', 'Organic volume', (row) => row.organic_volume),
    amount('liquidity', 'Liquidity', (row) => row.denom_liquidity_usd),
    address,
  ],
  keyOf: (row) => row.address,
  tokenOf: (row) => row,
  details: (row) => (
    <>
      <How>{({ densitySteps }) => densitySteps(row)}</How>
      <Pools address={row.address} />
    </>
  ),
  async load(client, choices, signal) {
    const asked = { ...choices, limit: ROWS } as Parameters<'getLpCheatSheet'>;
    return { rows: (await client.getLpCheatSheet(asked, { signal })).data };
  },
  request: (query) => ({
    method: 'GET',
    path: '/lp-cheat-sheet',
    query: { ...query, limit: String(ROWS) },
  }),
  reloads: true,
};
