/** The costs of an order over time as lines. */
import { stepFor } from '../heatmap/detail.js';
import { type Cost, costIn, type CostPoint, type CostUnit } from '../orders/cost.js';
import { longestWholeS } from '../state/gaps.js';
import { type Preset, PRESET_S } from '../state/url.js';
import type { ChartLine } from './compared.js';

/** Fewer than a page of `/replay` holds: a token costs one request. */
const MAX_POINTS = 240;
const MIN_STEP_S = 60;

/** A token's costs. */
export interface Costs {
  address: string;
  label: string;
  /** By size; empty over time. */
  curve: readonly CostPoint[];
  /** Over time, ascending; empty by size. */
  course: readonly TimedCost[];
  /** When the whole course was loaded, by `performance.now()`. */
  wholeAtMs: number;
}

export interface TimedCost {
  t: number;
  /** Null: the ladder holds less. */
  cost: CostPoint | null;
}

/** The past may be filled in or revised: a whole course is loaded again after this time. */
const WHOLE_AFTER_MS = 300_000;

/** The course that a load of `address` goes on from; an empty one: it loads the whole course. */
export function knownCourse(
  last: readonly Costs[],
  address: string,
  nowMs: number,
): Pick<Costs, 'course' | 'wholeAtMs'> {
  const before = last.find((one) => one.address === address);
  return before !== undefined && nowMs - before.wholeAtMs < WHOLE_AFTER_MS
    ? { course: before.course, wholeAtMs: before.wholeAtMs }
    : { course: [], wholeAtMs: nowMs };
}

/**
 * A course with what came after it.
 *
 * @param fresh from the newest known time on: of its step, another snapshot may count now
 * @param fromS when the window begins
 */
export const extended = (
  known: readonly TimedCost[],
  fresh: readonly TimedCost[],
  fromS: number,
): TimedCost[] => {
  const newestT = known.at(-1)?.t ?? -Infinity;
  return [...known.filter(({ t }) => t >= fromS && t < newestT), ...fresh];
};

export const stepS = (window: Preset): number =>
  Math.max(MIN_STEP_S, stepFor(PRESET_S[window], MAX_POINTS, MIN_STEP_S));

/**
 * The courses as lines on one time axis: a snapshot counts at the end of its step, the newest one at its own time.
 * Tokens have their snapshots at different times: a line joins its own ones, and breaks where some are missing.
 */
export function linesOfCosts(
  costs: readonly Pick<Costs, 'address' | 'label' | 'course'>[],
  window: Preset,
  unit: CostUnit,
): { t: number[]; lines: ChartLine[] } {
  const length = stepS(window);
  const newestT = Math.max(0, ...costs.map(({ course }) => course.at(-1)?.t ?? 0));
  const timeOf = (one: number): number => Math.min(newestT, Math.ceil(one / length) * length);
  const drawn = costs.map(({ course }) => ({
    points: course.map(({ t, cost }) => ({ t: timeOf(t), cost: cost && costIn(cost, unit) })),
    breaks: breaksOf(course, length, newestT).map((one) => timeOf(one) + 1),
  }));
  const times = drawn.flatMap(({ points, breaks }) => [...points.map(({ t }) => t), ...breaks]);
  const t = [...new Set(times)].sort((a, b) => a - b);
  const lines = costs.map(({ address, label }, i): ChartLine => {
    const { points, breaks } = drawn[i];
    const at = new Map<number, Cost | null>(breaks.map((time) => [time, null]));
    for (const { t: time, cost } of points) at.set(time, cost);
    const first = points.at(0)?.t ?? Infinity;
    const part = (name: keyof Cost) =>
      t.map((time) => {
        const cost = at.get(time);
        if (cost !== undefined) return cost && cost[name];
        return time < first ? null : undefined;
      });
    return {
      key: address,
      label,
      values: part('mean'),
      bounds: { least: part('least'), most: part('most') },
    };
  });
  return { t, lines };
}

/** The snapshots that the next one, or the newest one of all tokens, follows late. */
function breaksOf(course: readonly TimedCost[], stepLengthS: number, newestT: number): number[] {
  const times = course.map(({ t }) => t);
  const mostS = longestWholeS(times, stepLengthS);
  return times.filter((t, i) => (times.at(i + 1) ?? newestT) - t > mostS);
}
