/** Scores as documents of the API. */
import type { Static } from 'typebox';
import {
  BALANCE_POINTS,
  DEPTH_POINTS,
  FIRST_SCORE_BIN,
  SCORE_FORMULA,
  scoreWeight,
} from '../../compute/scores/score.js';
import type { AskedToken } from '../api/chain.js';
import type { getScore } from './get-score.js';
import type { scoreExplanation } from './score-explanation.js';
import { currentPriceUsd, type LiveToken } from '../tokens/token-table.js';
import type { AssetScore, Standing } from './standing.js';

export type ScoreDocument = Static<(typeof getScore)['response']>;

/** A token with a record. */
export function scoreDocument(token: LiveToken): ScoreDocument {
  const { address, chain, symbol, name } = token.details;
  return document({ address, chain }, symbol, name, currentPriceUsd(token), token.standing);
}

/** A token that nothing has named. */
export function unknownScoreDocument(asked: AskedToken, standing: Standing): ScoreDocument {
  return document(asked, null, null, null, standing);
}

function document(
  { address, chain }: AskedToken,
  symbol: string | null,
  name: string | null,
  priceUsd: number | null,
  { status, message, asset }: Standing,
): ScoreDocument {
  return {
    address,
    chain,
    symbol,
    name,
    service_score: asset?.score.score ?? null,
    score_msg: message,
    service_last_run: asset === null ? null : new Date(asset.scoredAtS * 1000).toISOString(),
    service_current_price: priceUsd,
    status,
  };
}

/** What a score is made of. */
export function explain({ score, ladder, legs }: AssetScore): Static<typeof scoreExplanation> {
  return {
    formula_version: SCORE_FORMULA,
    support: score.supportUsd,
    resistance: score.resistanceUsd,
    depth: score.depthUsd,
    components: {
      depth: { value: score.depthShare, points: DEPTH_POINTS * score.depthShare },
      balance: { value: score.balanceShare, points: BALANCE_POINTS * score.balanceShare },
    },
    unrounded: score.unrounded,
    weights: Array.from(ladder.supportCents, (supportCents, i) => ({
      bin: FIRST_SCORE_BIN + i,
      weight: scoreWeight(FIRST_SCORE_BIN + i),
      support: supportCents / 100,
      resistance: ladder.resistanceCents[i] / 100,
    })),
    legs: legs.map(({ chain, address, place: { t, tier }, priceUsd }) => ({
      chain,
      address,
      t,
      tier,
      price_usd: priceUsd,
    })),
  };
}
