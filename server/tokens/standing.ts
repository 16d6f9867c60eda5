/** A token's standing: its status, and the score of its asset or why it has none (docs/definitions.md#status). */
import type { Chain } from '../../compute/market.js';
import {
  MAX_LEG_AGE_S,
  mergeLadders,
  type Score,
  type ScoreLadder,
  scoreOfLadder,
} from '../../compute/scores/score.js';
import type { SnapshotRef, TokenRecord } from '../../storage/contract.js';

export const TOKEN_STATUSES = [
  'available',
  'pending',
  'unsupported',
  'unscored',
  'price_unavailable',
] as const;
type TokenStatus = (typeof TOKEN_STATUSES)[number];

/** A leg whose snapshot is part of a score. */
interface ScoredLeg {
  chain: Chain;
  address: string;
  ref: SnapshotRef;
  priceUsd: number;
}

/** The score of an asset. */
export interface AssetScore {
  score: Score;
  /** The legs' ladders, merged. */
  ladder: ScoreLadder;
  legs: readonly ScoredLeg[];
  /** Time of the newest of its legs' snapshots. */
  newestT: number;
  /** Whether that time is too long ago (docs/definitions.md#age). */
  isStale: boolean;
}

export interface Standing {
  status: TokenStatus;
  message: string;
  /** null unless the status is `available`. */
  asset: AssetScore | null;
}

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

/** Standing of an address of mainchain that no mint can have: it is not queued. */
export const NOT_A_MINT: Standing = {
  status: 'unsupported',
  message: 'No score: the address is not a mint, which is 32 bytes in base58',
  asset: null,
};

/** Standing of a token whose first data are being loaded, or have no depth yet. */
export const BEING_LOADED: Standing = {
  status: 'pending',
  message: 'No score yet: the token waits for market depth',
  asset: null,
};

const EXCLUDED: Standing = {
  status: 'unsupported',
  message: 'No score: the token is excluded from coverage',
  asset: null,
};

const DEPTH_ONLY: Standing = {
  status: 'unscored',
  message: 'No score: the token is covered for market depth and price only',
  asset: null,
};

const WITHOUT_PRICE: Standing = {
  status: 'price_unavailable',
  message: 'No score: no price is known for the token',
  asset: null,
};

/** The part of a leg that its asset's score uses. */
export interface ScorableLeg {
  readonly details: TokenRecord;
  readonly newest: { ref: SnapshotRef; priceUsd: number; ladder: ScoreLadder } | null;
  /** Why its newest snapshot cannot be read; undefined: it can. */
  readonly damage?: Error;
}

/**
 * A token's score, from the newest snapshots of its asset's legs; null: it has none.
 * @param legs including the token itself
 */
export function scoreOfLegs(details: TokenRecord, legs: readonly ScorableLeg[]): number | null {
  const own = legs.find((leg) => leg.details.tokenId === details.tokenId);
  const priceUsd = own?.newest?.priceUsd ?? details.price_usd;
  const asset = scoreAsset(legs, () => false);
  return standingOf(details, priceUsd, asset).asset?.score.score ?? null;
}

/** Scores the newest snapshots of the legs with full coverage; null without any. */
export function scoreAsset(
  legs: readonly ScorableLeg[],
  isStale: (t: number) => boolean,
): AssetScore | null {
  // Without the damaged leg, the score would be a different one.
  if (legs.some(({ damage }) => damage !== undefined)) return null;
  const full = legs.flatMap(({ details, newest }) =>
    details.coverage === 'full' && newest !== null ? [{ details, newest }] : [],
  );
  if (full.length === 0) return null;
  const newestT = Math.max(...full.map(({ newest }) => newest.ref.t));
  const kept = full.filter(({ newest }) => newestT - newest.ref.t <= MAX_LEG_AGE_S);
  const ladder = mergeLadders(kept.map(({ newest }) => newest.ladder));
  return {
    score: scoreOfLadder(ladder),
    ladder,
    legs: kept.map(({ details: { chain, address }, newest: { ref, priceUsd } }) => ({
      chain,
      address,
      ref,
      priceUsd,
    })),
    newestT,
    isStale: isStale(newestT),
  };
}

/** A token's standing from its coverage, its price and its asset's score. */
export function standingOf(
  { coverage }: TokenRecord,
  priceUsd: number | null,
  asset: AssetScore | null,
): Standing {
  switch (coverage) {
    case 'excluded':
      return EXCLUDED;
    case 'depth_only':
      return DEPTH_ONLY;
    case 'full':
      if (priceUsd === null) return WITHOUT_PRICE;
      if (asset === null) return BEING_LOADED;
      return { status: 'available', message: asset.score.message, asset };
  }
}
