/** How a token's score changed in the last 24 hours, on any board. */
import type { TopScore } from '../../../client/index.js';
import { NONE, signedPoints } from '../../state/format.js';
import { Line } from '../sparkline.js';
import type { Column } from '../table.js';
import type { BoardToken } from './spec.js';

/** Headings on every board. */
export const SCORE_LINE_LABEL = 'Score, 24h';
export const CHANGE_HEADING = {
  label: 'Score change, 24h',
  about: 'In points',
} as const;

/** How much the score has changed in 24 hours; null if unknown. */
export function scoreChange({ service_score, score_24h_ago = null }: TopScore): number | null {
  return score_24h_ago === null ? null : service_score - score_24h_ago;
}

export function ScoreLine({ row }: { row: TopScore }) {
  return (
    <Line
      values={[...(row.scores_24h ?? []), row.service_score]}
      label={`Score of ${row.symbol ?? row.address} over 24 hours`}
    />
  );
}

/** Columns of the scores, for a board whose rows have none. @param scores by address */
export function scoreColumns<Row>(
  scores: ReadonlyMap<string, TopScore>,
  tokenOf: (row: Row) => BoardToken,
): Column<Row>[] {
  const scoreOf = (row: Row): TopScore | null => scores.get(tokenOf(row).address) ?? null;
  const changeOf = (row: Row): number | null => {
    const score = scoreOf(row);
    return score === null ? null : scoreChange(score);
  };
  return [
    {
      name: 'token_score',
      label: SCORE_LINE_LABEL,
      about: "The token's score, and how it changed in the last 24 hours",
      kind: 'chart',
      by: (row) => scoreOf(row)?.service_score ?? null,
      show: (row) => {
        const score = scoreOf(row);
        if (score === null) return NONE;
        return (
          <span class="line-figure">
            <ScoreLine row={score} />
            <span>{score.service_score.toFixed(1)}</span>
          </span>
        );
      },
    },
    {
      name: 'token_score_change',
      ...CHANGE_HEADING,
      kind: 'figure',
      by: changeOf,
      show: (row) => signedPoints(changeOf(row)),
    },
  ];
}
