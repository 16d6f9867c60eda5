/** The density and the gaps of a token's history (docs/definitions.md#coverage). */
import { type Tier, TIERS } from '../market.js';
import { firstFrom } from '../search.js';

/** A tier's median is computed from this many of its newest intervals. */
export const MEDIAN_INTERVALS = 1000;
/** A gap is longer than this many medians. */
export const GAP_MEDIANS = 3;

/** A gap between the neighbouring snapshots at `from` and `to`, epoch seconds. */
interface Gap {
  tier: Tier;
  from: number;
  to: number;
}

/**
 * Median of the newest intervals between snapshots, seconds; for an even number, the mean of the middle two.
 * null with fewer than two snapshots.
 * @param times ascending
 */
export function medianIntervalS(times: Uint32Array): number | null {
  const newest = times.subarray(-MEDIAN_INTERVALS - 1);
  const count = newest.length - 1;
  if (count < 1) return null;
  const intervals = Uint32Array.from({ length: count }, (_, i) => newest[i + 1] - newest[i]).sort();
  return (intervals[(count - 1) >> 1] + intervals[count >> 1]) / 2;
}

/** A window, epoch seconds: `fromS <= t < toS`. */
interface Window {
  fromS: number;
  toS: number;
}

const ALWAYS: Window = { fromS: 0, toS: Infinity };

/**
 * The newest gaps of all tiers that overlap a window, newest first; if gaps end at the same time, the finer
 * tier's comes first.
 * @param times by tier, ascending
 */
export function newestGaps(
  times: Readonly<Record<Tier, Uint32Array>>,
  limit: number,
  window: Window = ALWAYS,
): { gaps: Gap[]; truncated: boolean } {
  const found = TIERS.flatMap((tier) => gapsOf(tier, times[tier], limit + 1, window));
  const gaps = found.sort((a, b) => b.to - a.to);
  return { gaps: gaps.slice(0, limit), truncated: gaps.length > limit };
}

/** The newest `limit` gaps of a tier, newest first. */
function gapsOf(tier: Tier, times: Uint32Array, limit: number, { fromS, toS }: Window): Gap[] {
  const longestS = GAP_MEDIANS * (medianIntervalS(times) ?? Infinity);
  const gaps: Gap[] = [];
  const firstAfter = Math.min(firstFrom(times, toS), times.length - 1);
  for (let i = firstAfter; i > 0 && times[i] > fromS && gaps.length < limit; i--) {
    if (times[i] - times[i - 1] > longestS) gaps.push({ tier, from: times[i - 1], to: times[i] });
  }
  return gaps;
}
