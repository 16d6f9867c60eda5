/** What a token's score is, or why it has none (data.md section 4, Status). */
import type { Score, ScoreLadder } from '../../compute/scores/score.js';
import type { SnapshotRef, TokenDetails } from '../../storage/contract.js';
import type { Chain } from '../../compute/market.js';
import type { TokenStatus } from './score-fields.js';

/** A leg's snapshot that a score was made of. */
export interface ScoredLeg {
  chain: Chain;
  address: string;
  place: SnapshotRef;
  priceUsd: number;
}

/** The one score of an asset. */
export interface AssetScore {
  score: Score;
  /** The legs' ladders, merged. */
  ladder: ScoreLadder;
  legs: readonly ScoredLeg[];
  /** The service's time when it was worked out, epoch seconds. */
  scoredAtS: number;
}

export interface Standing {
  status: TokenStatus;
  message: string;
  /** Where the status is `available`. */
  asset: AssetScore | null;
}

const MESSAGES = {
  excluded: 'No score: the token is excluded from coverage',
  depthOnly: 'No score: the token is covered for market depth and price only',
  noPrice: 'No score: no price is known for the token',
  noDepth: 'No score yet: the token waits for market depth',
} as const;

/** Standing of a mint without a record: it is queued. */
export const QUEUED: Standing = {
  status: 'pending',
  message: 'No score yet: the token is queued and waits for data',
  asset: null,
};

/** Standing of a 0x token without a record. */
export const NOT_INDEXED: Standing = {
  status: 'unsupported',
  message: 'No score: the token is not indexed',
  asset: null,
};

/** Standing of a token whose first data came a moment ago. */
export const BEING_LOADED: Standing = {
  status: 'pending',
  message: MESSAGES.noDepth,
  asset: null,
};

/** A token's standing by its own coverage and price, and its asset's score. */
export function standingOf(
  { coverage }: TokenDetails,
  priceUsd: number | null,
  asset: AssetScore | null,
): Standing {
  switch (coverage) {
    case 'excluded':
      return { status: 'unsupported', message: MESSAGES.excluded, asset: null };
    case 'depth_only':
      return { status: 'unscored', message: MESSAGES.depthOnly, asset: null };
    case 'full':
      if (priceUsd === null) {
        return { status: 'price_unavailable', message: MESSAGES.noPrice, asset: null };
      }
      if (asset === null) return { status: 'pending', message: MESSAGES.noDepth, asset: null };
      return { status: 'available', message: asset.score.message, asset };
  }
}
