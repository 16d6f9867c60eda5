/** The board of scores. */
import type { Parameters, TopScore } from '../../../client/index.js';
import { price } from '../../state/format.js';
import { Meter } from '../sparkline.js';
import { address, rank, TokenLink } from './cells.js';
import type { BoardSpec } from './spec.js';

export const scores: BoardSpec<TopScore> = {
  title: 'Scores',
  about: 'How much depth lies near the price, and how evenly on both sides: 0 to 100.',
  unit: 'tokens',
  empty: 'No token of this chain has a score from recent depth.',
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
    address,
  ],
  keyOf: (row) => row.address,
  async load(client, { chain }, signal) {
    const found = await client.getTopScores({ chain } as Parameters<'getTopScores'>, { signal });
    const note = found.stale_count === 0 ? undefined : `${found.stale_count} left out as stale`;
    return { rows: found.tokens, note };
  },
  request: (query) => ({ method: 'GET', path: '/top-scores', query }),
  reloads: true,
};
