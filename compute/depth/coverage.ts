/** The density and the gaps of a token's history (docs/definitions.md#coverage). */
import { type Tier, TIERS } from '../market.js';

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

/** Times of a tier's snapshots, ascending, in parts that are not empty. */
type TimeParts = readonly Uint32Array[];

/**
 * Median of the newest intervals between snapshots, seconds; for an even number, the mean of the middle two.
 * null with fewer than two snapshots.
 */
export function medianIntervalS(times: TimeParts): number | null {
  const intervals = new Uint32Array(MEDIAN_INTERVALS);
  let count = 0;
  let later = 0;
  for (let p = times.length - 1; p >= 0 && count < MEDIAN_INTERVALS; p--) {
    for (let i = times[p].length - 1; i >= 0 && count < MEDIAN_INTERVALS; i--) {
      if (later > 0) intervals[count++] = later - times[p][i];
      later = times[p][i];
    }
  }
  if (count === 0) return null;
  const sorted = intervals.subarray(0, count).sort();
  return (sorted[(count - 1) >> 1] + sorted[count >> 1]) / 2;
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
 * @param pause called between parts of the times: finding the gaps of a long history takes a while
 */
export async function newestGaps(
  times: Readonly<Record<Tier, TimeParts>>,
  limit: number,
  { window = ALWAYS, pause = () => undefined }: { window?: Window; pause?: Pause } = {},
): Promise<{ gaps: Gap[]; truncated: boolean }> {
  const found: Gap[] = [];
  for (const tier of TIERS) {
    found.push(...(await gapsOf(tier, times[tier], limit + 1, window, pause)));
  }
  const gaps = found.sort((a, b) => b.to - a.to);
  return { gaps: gaps.slice(0, limit), truncated: gaps.length > limit };
}

type Pause = () => Promise<void> | void;

/** The newest `limit` gaps of a tier, newest first. */
async function gapsOf(
  tier: Tier,
  times: TimeParts,
  limit: number,
  { fromS, toS }: Window,
  pause: Pause,
): Promise<Gap[]> {
  const longestS = GAP_MEDIANS * (medianIntervalS(times) ?? Infinity);
  const gaps: Gap[] = [];
  let to = 0;
  for (let p = times.length - 1; p >= 0; p--) {
    const part = times[p];
    for (let i = part.length - 1; i >= 0; i--) {
      const from = part[i];
      if (to - from > longestS && from < toS) gaps.push({ tier, from, to });
      if (from <= fromS || gaps.length === limit) return gaps;
      to = from;
    }
    await pause();
  }
  return gaps;
}
