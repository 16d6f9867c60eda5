/** Where a token's history, of all tiers together, has gaps (docs/definitions.md#coverage). */
import type { Coverage } from '../../client/index.js';

/** As for the gaps of a tier: longer than this many usual intervals. */
const GAP_INTERVALS = 3;

/** Between two neighbouring snapshots, epoch seconds. */
export interface Gap {
  from: number;
  to: number;
  /** The usual interval before it, in seconds. */
  intervalS: number;
}

/**
 * The gaps of a whole history: those of a tier that no other tier fills, and times between two tiers that are longer
 * than 3 usual intervals of the coarser one.
 */
export function gapsOf({ tiers, gaps }: Pick<Coverage, 'tiers' | 'gaps'>): Gap[] {
  const whole = tiers.flatMap(({ tier, first_t, last_t, median_interval_s }) => {
    const own = gaps.filter((one) => one.tier === tier).toSorted((a, b) => a.from - b.from);
    return [first_t, ...own.map(({ to }) => to)].map((from, at) => ({
      from,
      to: own[at]?.from ?? last_t,
      intervalS: median_interval_s ?? 0,
    }));
  });
  const found: Gap[] = [];
  const sorted = whole.toSorted((a, b) => a.from - b.from);
  let [before] = sorted;
  for (const next of sorted) {
    const usualS = Math.max(before.intervalS, next.intervalS);
    const isGap = next.from - before.to > GAP_INTERVALS * usualS;
    if (isGap) found.push({ from: before.to, to: next.from, intervalS: before.intervalS });
    if (next.to >= before.to) before = next;
  }
  return found;
}

/**
 * Whether the newest snapshot is so old that the next one will end a gap.
 * @param seenT time of the newest snapshot that the page knows of, which may be newer than the coverage
 */
export function isLate({ tiers }: Pick<Coverage, 'tiers'>, seenT: number, nowS: number): boolean {
  const newestT = Math.max(...tiers.map(({ last_t: t }) => t));
  const newest = tiers.find(({ last_t: t }) => t === newestT);
  const usualS = newest?.median_interval_s ?? Infinity;
  return nowS - Math.max(newestT, seenT) > GAP_INTERVALS * usualS;
}

/** The first gap between two times at which there are snapshots; undefined if the history is whole between them. */
export const gapBetween = (gaps: readonly Gap[], from: number, to: number): Gap | undefined =>
  gaps.find((gap) => gap.to > from && gap.from < to);

/** The longest time that is no gap between the snapshots of steps, by the times of those that there are. */
export function longestWholeS(times: readonly number[], stepS: number): number {
  const intervals = times.slice(1).map((t, i) => t - times[i]);
  const usualS = intervals.toSorted((a, b) => a - b)[intervals.length >> 1] ?? 0;
  return GAP_INTERVALS * Math.max(usualS, stepS);
}
