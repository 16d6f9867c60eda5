/**
 * Judges the times of two builds that took turns in one run. Two measurements of the same build differ by more than most
 * changes do, so a verdict is based on pairs of adjacent turns.
 */
import { median } from '../case.js';
import { seededRandom } from './random.js';

/** The turns of one case: `base[i]` and `head[i]` were measured right after one another. Milliseconds. */
export interface PairedTurns {
  base: readonly number[];
  head: readonly number[];
}

export interface RatioInterval {
  /** Median over the pairs of head's time divided by base's: 1.1 is 10% slower. */
  ratio: number;
  /** Ends of the bootstrap interval. */
  low: number;
  high: number;
}

export type TimeVerdict = 'slower' | 'faster' | 'same';

interface VerdictOptions {
  /** Least difference that counts: 0.05 is 5%. */
  threshold: number;
  /** Chance of a wrong verdict over all cases together. */
  errorRate: number;
  /** Number of judged cases. */
  cases: number;
}

export const DEFAULT_THRESHOLD = 0.05;
export const DEFAULT_ERROR_RATE = 0.01;
/** Fewer pairs prove nothing. */
export const MIN_PAIRS = 8;
const RESAMPLES = 4000;
const SEED = 20_261;

/**
 * Percentile bootstrap of the median of the pairs' ratios (Efron 1979), the pairs resampled.
 * @param errorRate share of the resamples outside the interval
 * @throws RangeError with fewer than MIN_PAIRS pairs
 */
export function ratioInterval({ base, head }: PairedTurns, errorRate: number): RatioInterval {
  const pairs = Math.min(base.length, head.length);
  if (pairs < MIN_PAIRS) throw new RangeError(`${pairs} pairs of turns, expected ${MIN_PAIRS}`);
  const ratios = Float64Array.from({ length: pairs }, (_, i) => head[i] / base[i]);
  const random = seededRandom(SEED);
  const drawn = new Float64Array(pairs);
  const medians = Float64Array.from({ length: RESAMPLES }, () => {
    for (let i = 0; i < pairs; i++) drawn[i] = ratios[Math.floor(random() * pairs)];
    return median(drawn);
  }).sort();
  const outside = Math.floor((errorRate / 2) * RESAMPLES);
  return {
    ratio: median(ratios),
    low: medians[outside],
    high: medians[RESAMPLES - 1 - outside],
  };
}

/** A build is slower, or faster, if the whole interval is beyond the threshold. */
export function judgeTimes(
  turns: PairedTurns,
  { threshold, errorRate, cases }: VerdictOptions,
): RatioInterval & { verdict: TimeVerdict } {
  // Bonferroni: with many cases, one of them exceeds the threshold by chance.
  const interval = ratioInterval(turns, errorRate / Math.max(1, cases));
  const { low, high } = interval;
  const verdict = low > 1 + threshold ? 'slower' : high < 1 / (1 + threshold) ? 'faster' : 'same';
  return { ...interval, verdict };
}
