/** The parts of a score (`explain=true`), enough to recompute it. */
import Type from 'typebox';
import { TIERS } from '../../compute/market.js';
import {
  BALANCE_POINTS,
  DEPTH_POINTS,
  FIRST_SCORE_BIN,
  LAST_SCORE_BIN,
  SCORE_FORMULA,
} from '../../compute/scores/score.js';
import {
  chainKey,
  document,
  epochSeconds,
  number,
  tokenAddress,
  usd,
  word,
} from '../api/schemas.js';

const component = (points: number, description: string) =>
  document(
    {
      value: Type.Number({ minimum: 0, maximum: 1, description: 'The mark, 0 to 1.' }),
      points: number(`What the mark is worth in the score: ${points} times it`),
    },
    { description },
  );

export const scoreExplanation = document({
  formula_version: word([SCORE_FORMULA], {
    description:
      'Names the formula: the score is the sum of the points of its components, rounded to one decimal.',
  }),
  support: usd('S: sum of weight times support'),
  resistance: usd('R: sum of weight times resistance'),
  depth: usd('D: S + R'),
  components: document({
    depth: component(DEPTH_POINTS, 'clamp(log10(D / 1000) / 5, 0, 1); 0 where D < 1.'),
    balance: component(BALANCE_POINTS, '1 - |S - R| / D; 0 where D < 1.'),
  }),
  unrounded: number('The score before rounding'),
  weights: Type.Array(
    document({
      bin: Type.Integer({
        description: 'Bin of the 1% ladder: price = price of the leg * 1.01^bin.',
      }),
      weight: number('max(0, 1 - |1.01^bin - 1| / 0.25)'),
      support: usd('Support of all legs in this bin, perps left out'),
      resistance: usd('Resistance of all legs in this bin, perps left out'),
    }),
    { description: `Every bin with a weight, ${FIRST_SCORE_BIN} to ${LAST_SCORE_BIN}.` },
  ),
  legs: Type.Array(
    document({
      chain: chainKey,
      address: tokenAddress,
      t: epochSeconds('Time of the snapshot that was used'),
      tier: word(TIERS),
      price_usd: usd('Price of the snapshot'),
    }),
    { description: 'The legs whose depth was merged.' },
  ),
});
