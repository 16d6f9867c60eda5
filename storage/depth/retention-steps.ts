/** Which snapshots are deleted by age, and which of them are copied into coarser tiers first. */
import { type Tier, TIER_LENGTH_S, TIERS } from '../../compute/market.js';
import type { SnapshotCopy } from '../../compute/segment/rewrite.js';
import { DAY_S, HOUR_S, MINUTE_S } from '../../compute/time.js';
import { type Directory, firstT, rowAt, type SegmentRef } from './directory.js';

/** Seconds for which snapshots of a tier are kept; forever if the tier is missing. */
export type Retention = Readonly<Partial<Record<Tier, number>>>;

/** By tier: snapshots before this time are deleted; 0 deletes none. */
export type Cutoffs = Readonly<Record<Tier, number>>;

/** Limits of a step: segments that it deletes, and segments from which it copies. */
const RETENTION_LIMITS = { deleted: 256, copied: 16 } as const;
type Limits = Readonly<Record<keyof typeof RETENTION_LIMITS, number>>;
/** For one step that does everything left in a tier. */
export const NO_LIMITS: Limits = { deleted: Infinity, copied: Infinity };

/** A bounded part of the work for one token. */
export interface RetentionStep {
  /** Snapshots of this tier before `toS` are deleted. */
  tier: Tier;
  toS: number;
  /** Copies to make first, ascending in `t` within a tier. */
  copies: readonly (Omit<SnapshotCopy, 'block'> & { from: SegmentRef })[];
}

/** Tiers into which raw snapshots are copied before they are deleted: the coarser tiers that are kept longer. */
export function tiersToMake({ raw, ...kept }: Retention): Tier[] {
  if (raw === undefined) return [];
  return (['15m', '1h'] as const).filter((tier) => (kept[tier] ?? Infinity) > raw);
}

/**
 * The cut-offs at a time. They are whole days if snapshots are kept for a week or more, whole hours from a day on,
 * and otherwise whole minutes: finer cut-offs would rewrite a token's oldest segment all the time.
 */
export function cutoffsAt(retention: Retention, nowS: number): Cutoffs {
  const cutoff = (tier: Tier): number => {
    const keptS = retention[tier];
    if (keptS === undefined) return 0;
    const stepS = keptS >= 7 * DAY_S ? DAY_S : keptS >= DAY_S ? HOUR_S : MINUTE_S;
    return Math.max(0, Math.floor((nowS - keptS) / stepS) * stepS);
  };
  let raw = cutoff('raw');
  for (const tier of tiersToMake(retention)) {
    // A coarse snapshot is not copied while a later raw one may still replace it.
    const lengthS = TIER_LENGTH_S[tier];
    raw = Math.min(raw, Math.floor(nowS / lengthS) * lengthS + 1);
  }
  return { raw, '15m': cutoff('15m'), '1h': cutoff('1h') };
}

/**
 * The next step for a token; null if nothing is left to do. The step that deletes a raw snapshot also copies it if it
 * is the newest of its interval. So the work can be cut into steps anywhere, with the same result.
 */
export function nextRetentionStep(
  directory: Directory,
  cutoffs: Cutoffs,
  made: readonly Tier[],
  limits: Limits = RETENTION_LIMITS,
): RetentionStep | null {
  for (const tier of TIERS) {
    const segments = directory[tier];
    if (segments.length === 0 || firstT(segments[0]) >= cutoffs[tier]) continue;
    if (tier === 'raw') return rawStep(directory, cutoffs, made, limits);
    const after = segments.at(limits.deleted);
    const toS = after === undefined ? cutoffs[tier] : Math.min(cutoffs[tier], firstT(after));
    return { tier, toS, copies: [] };
  }
  return null;
}

function rawStep(
  directory: Directory,
  cutoffs: Cutoffs,
  made: readonly Tier[],
  limits: Limits,
): RetentionStep {
  const { raw } = directory;
  const copies: RetentionStep['copies'][number][] = [];
  let copiedSegments = 0;
  for (const [i, from] of raw.entries()) {
    if (firstT(from) >= cutoffs.raw) break;
    if (i === limits.deleted || copiedSegments === limits.copied) {
      return { tier: 'raw', toS: firstT(from), copies };
    }
    const before = copies.length;
    for (const [row, t] of from.times.entries()) {
      if (t >= cutoffs.raw) break;
      const nextT = from.times[row + 1] ?? raw.at(i + 1)?.times[0] ?? Infinity;
      for (const tier of made) {
        const end = endOf(tier, t);
        const isNewest = endOf(tier, nextT) > end;
        if (!isNewest || end < cutoffs[tier] || rowAt(directory[tier], end) !== null) continue;
        copies.push({ from, row, tier, t: end });
      }
    }
    if (copies.length > before) copiedSegments++;
  }
  return { tier: 'raw', toS: cutoffs.raw, copies };
}

/** Time of the coarse snapshot that a raw one at `t` can become: the end of its interval `(end - length, end]`. */
function endOf(tier: Tier, t: number): number {
  return Math.ceil(t / TIER_LENGTH_S[tier]) * TIER_LENGTH_S[tier];
}
