/** The liquidity score of an asset (docs/definitions.md#score). */
import { binFactor, MAX_BIN, MIN_BIN } from '../ladder.js';
import type { Market } from '../market.js';
import type { SnapshotCells } from '../segment/snapshots.js';
import { DAY_S } from '../time.js';

/** Name of the formula below; it changes when the formula does. */
export const SCORE_FORMULA = 'fathom.score.1';
/** Depth further from the price than this fraction has no weight. */
const SCORE_REACH = 0.25;
/** Greatest points for depth, and for balance. */
export const DEPTH_POINTS = 80;
export const BALANCE_POINTS = 20;
/** Depth of 1,000 USD earns no points, 10^5 times that earns all. */
const DEPTH_FLOOR_USD = 1000;
const DEPTH_DECADES = 5;
/** Less weighted depth than this counts as none. */
const MIN_DEPTH_USD = 1;
/** From this ratio on, the message says that one side outweighs the other. */
const NOTABLE_RATIO = 1.25;
/** A leg whose newest snapshot is this much older than the asset's newest is left out. */
export const MAX_LEG_AGE_S = DAY_S;

/** `w(b) = max(0, 1 - |1.01^b - 1| / 0.25)` */
export function scoreWeight(bin: number): number {
  return Math.max(0, 1 - Math.abs(binFactor(bin) - 1) / SCORE_REACH);
}

/** First and last bin with a weight: -28 and 22. */
export const { first: FIRST_SCORE_BIN, last: LAST_SCORE_BIN } = weightedBins();
export const SCORE_BINS = LAST_SCORE_BIN - FIRST_SCORE_BIN + 1;
const WEIGHTS = Float64Array.from({ length: SCORE_BINS }, (_, i) =>
  scoreWeight(FIRST_SCORE_BIN + i),
);

function weightedBins(): { first: number; last: number } {
  let first = MIN_BIN;
  while (scoreWeight(first) === 0) first++;
  let last = MAX_BIN;
  while (scoreWeight(last) === 0) last--;
  return { first, last };
}

/** Cents by bin, index `bin - FIRST_SCORE_BIN`: the bins that a score uses. */
export interface ScoreLadder {
  supportCents: Float64Array;
  resistanceCents: Float64Array;
}

/** All markets but perps count for the score. */
export const isScored = (market: Market): boolean => market.type !== 'cex_perp';

/** Sums a snapshot's cells by bin; `mask` (by market index) tells which markets count. */
export function scoreLadder(
  cells: Omit<SnapshotCells, 't' | 'priceUsd'>,
  mask: Uint8Array,
): ScoreLadder {
  const ladder = emptyLadder();
  for (let i = 0; i < cells.bin.length; i++) {
    const b = cells.bin[i] - FIRST_SCORE_BIN;
    if (b < 0 || b >= WEIGHTS.length || mask[cells.market[i]] === 0) continue;
    ladder.supportCents[b] += cells.supportCents[i];
    ladder.resistanceCents[b] += cells.resistanceCents[i];
  }
  return ladder;
}

/** Adds up the ladders of the legs. Cents are whole, so the order of the legs does not matter. */
export function mergeLadders(ladders: readonly ScoreLadder[]): ScoreLadder {
  if (ladders.length === 1) return ladders[0];
  const merged = emptyLadder();
  for (const { supportCents, resistanceCents } of ladders) {
    for (let b = 0; b < WEIGHTS.length; b++) {
      merged.supportCents[b] += supportCents[b];
      merged.resistanceCents[b] += resistanceCents[b];
    }
  }
  return merged;
}

/** A score and its components; amounts in USD. */
export interface Score {
  /** 0 to 100, one decimal. */
  score: number;
  unrounded: number;
  /** Weighted support, weighted resistance, and their sum. */
  supportUsd: number;
  resistanceUsd: number;
  depthUsd: number;
  /** 0 to 1 each. */
  depthShare: number;
  balanceShare: number;
  message: string;
}

export function scoreOfLadder(ladder: ScoreLadder): Score {
  let supportUsd = 0;
  let resistanceUsd = 0;
  for (let b = 0; b < WEIGHTS.length; b++) {
    supportUsd += (WEIGHTS[b] * ladder.supportCents[b]) / 100;
    resistanceUsd += (WEIGHTS[b] * ladder.resistanceCents[b]) / 100;
  }
  const depthUsd = supportUsd + resistanceUsd;
  const scored = depthUsd >= MIN_DEPTH_USD;
  const decades = Math.log10(depthUsd / DEPTH_FLOOR_USD) / DEPTH_DECADES;
  const depthShare = scored ? Math.min(1, Math.max(0, decades)) : 0;
  const balanceShare = scored ? 1 - Math.abs(supportUsd - resistanceUsd) / depthUsd : 0;
  const unrounded = DEPTH_POINTS * depthShare + BALANCE_POINTS * balanceShare;
  return {
    score: Math.round(unrounded * 10) / 10,
    unrounded,
    supportUsd,
    resistanceUsd,
    depthUsd,
    depthShare,
    balanceShare,
    message: balanceMessage(supportUsd, resistanceUsd),
  };
}

function balanceMessage(supportUsd: number, resistanceUsd: number): string {
  const where = 'within 25% of the price';
  if (supportUsd + resistanceUsd < MIN_DEPTH_USD) return `No liquidity ${where}`;
  if (resistanceUsd === 0) return `Only support ${where}`;
  if (supportUsd === 0) return `Only resistance ${where}`;
  const ratio = supportUsd / resistanceUsd;
  if (ratio >= NOTABLE_RATIO) return `Support outweighs resistance ${ratio.toFixed(2)}x ${where}`;
  const mirror = resistanceUsd / supportUsd;
  if (mirror >= NOTABLE_RATIO) return `Resistance outweighs support ${mirror.toFixed(2)}x ${where}`;
  return `Support and resistance are balanced ${where}`;
}

/** Both columns share a buffer, as in binSums(). */
function emptyLadder(): ScoreLadder {
  const cents = new Float64Array(2 * WEIGHTS.length);
  return {
    supportCents: cents.subarray(0, WEIGHTS.length),
    resistanceCents: cents.subarray(WEIGHTS.length),
  };
}
