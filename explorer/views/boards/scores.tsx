/** The board of scores. */
import type { Parameters, TopScore } from '../../../client/index.js';
import { coverNote, coverTitle, SCORED_TEXT } from '../../ladder/ladder.js';
import { CHAIN_LABELS, price, signedPoints } from '../../state/format.js';
import { address, amount, rank, TokenLink } from './cells.js';
import { ScoreDetails } from './details.js';
import type { BoardSpec } from './spec.js';
import { CHANGE_HEADING, SCORE_LINE_LABEL, scoreChange, ScoreLine } from './standing.js';

/** The band of `depth_2pct_usd`. */
const DETAIL_PCT = 2;

export const scores: BoardSpec<TopScore> = {
  about: `How much depth lies near the price, and how evenly on both sides: 0 to 100. Scores and depth are of ${SCORED_TEXT}. Within ${DETAIL_PCT}%, ${coverNote(DETAIL_PCT)}.`,
  unit: 'tokens',
  empty: 'No token of this chain has a score from recent depth.',
  choices: [
    {
      name: 'chain',
      label: 'Chain',
      options: [
        { value: 'mainchain', label: CHAIN_LABELS.mainchain },
        { value: 'evmchain', label: CHAIN_LABELS.evmchain },
        { value: 'all', label: 'All' },
      ],
    },
  ],
  columns: () => [
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
    amount(
      'support',
      `Support within ${DETAIL_PCT}%, without perps`,
      (row) => row.depth_2pct_usd?.support ?? null,
      coverTitle(DETAIL_PCT),
    ),
    amount(
      'resistance',
      `Resistance within ${DETAIL_PCT}%, without perps`,
      (row) => row.depth_2pct_usd?.resistance ?? null,
      coverTitle(DETAIL_PCT),
    ),
    {
      name: 'day',
      label: SCORE_LINE_LABEL,
      about: 'The score at each of the last 24 hours',
      kind: 'chart',
      show: (row) => <ScoreLine row={row} />,
    },
    {
      name: 'change',
      ...CHANGE_HEADING,
      kind: 'figure',
      by: scoreChange,
      show: (row) => signedPoints(scoreChange(row)),
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
  ranking: () => 'score',
  keyOf: (row) => row.address,
  tokenOf: (row) => row,
  details: (row) => <ScoreDetails address={row.address} />,
  async load(client, { chain }, signal) {
    const query = { chain, details: true } as Parameters<'getTopScores'>;
    const found = await client.getTopScores(query, { signal });
    const note = found.stale_count === 0 ? undefined : `${found.stale_count} left out as stale`;
    return { rows: found.tokens, note };
  },
  request: (query) => ({
    method: 'GET',
    path: '/top-scores',
    query: { ...query, details: 'true' },
  }),
  reloads: true,
};
