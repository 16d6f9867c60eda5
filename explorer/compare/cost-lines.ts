/** The costs of an order over time as lines. */
import { stepFor } from '../heatmap/detail.js';
import { costIn, type CostPoint, type CostUnit } from '../orders/cost.js';
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
}

export interface TimedCost {
  t: number;
  /** Null: the ladder holds less. */
  cost: CostPoint | null;
}

export const stepS = (window: Preset): number =>
  Math.max(MIN_STEP_S, stepFor(PRESET_S[window], MAX_POINTS, MIN_STEP_S));

/** The courses as lines on one time axis: a snapshot counts at the end of its step, the newest one at its own time. */
export function linesOfCosts(
  costs: readonly Costs[],
  window: Preset,
  unit: CostUnit,
): { t: number[]; lines: ChartLine[] } {
  const length = stepS(window);
  const newestT = Math.max(0, ...costs.map(({ course }) => course.at(-1)?.t ?? 0));
  const timeOf = ({ t }: TimedCost): number => Math.min(newestT, Math.ceil(t / length) * length);
  const t = [...new Set(costs.flatMap(({ course }) => course.map(timeOf)))].sort((a, b) => a - b);
  const lines = costs.map(({ address, label, course }): ChartLine => {
    const at = new Map(course.map((one) => [timeOf(one), one.cost && costIn(one.cost, unit)]));
    const part = (name: 'mean' | 'least' | 'most') => t.map((time) => at.get(time)?.[name] ?? null);
    return {
      key: address,
      label,
      values: part('mean'),
      bounds: { least: part('least'), most: part('most') },
    };
  });
  return { t, lines };
}
