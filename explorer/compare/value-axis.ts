/** The axis of a chart's values: what it spans, and the ticks of a logarithmic one. */
import { priceTicks } from '../heatmap/ticks.js';

export type ValueAxis = 'from zero' | 'fitted' | 'log';

/** Free space beside the lines, as a share of what they span. */
const MARGIN = 0.05;
/** The least ratio of the ends of a logarithmic axis: small moves stay small. */
const LEAST_RATIO = 2;
/** Ticks in each power of ten, the closest first. */
const MULTIPLES = [[1, 2, 5], [1, 3], [1]];

/** The ends of an axis. @param low the least of its values, or null without any; on a logarithmic axis, positive */
export function rangeOf(
  axis: ValueAxis,
  low: number | null,
  high: number | null,
): [number, number] {
  if (low === null || high === null) return [1, 10];
  if (axis === 'log') {
    const margin = Math.max((high / low) ** MARGIN, Math.sqrt((LEAST_RATIO * low) / high));
    return [low / margin, high * margin];
  }
  const bottom = axis === 'from zero' ? 0 : low;
  const margin = MARGIN * (high - bottom) || 1;
  return [axis === 'from zero' ? 0 : low - margin, high + margin];
}

/**
 * Round values on a logarithmic axis. Over less than a power of ten, they are as close as there is room.
 *
 * @param minGap the least distance between two ticks, as a share of the axis
 */
export function ticksBetween(low: number, high: number, minGap: number): number[] {
  const [lnLow, lnHigh] = [Math.log(low), Math.log(high)];
  if (high / low < 10)
    return priceTicks({ from: 0, to: 1, lnLow, lnHigh }, minGap).map(({ at }) => Math.exp(at));
  const least = Math.exp(minGap * (lnHigh - lnLow));
  const multiples = MULTIPLES.find((one) => least <= Math.min(...ratiosOf(one))) ?? [1];
  const decades = Math.max(1, Math.ceil(Math.log10(least)));
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    if (power % decades !== 0) continue;
    ticks.push(...multiples.map((one) => one * 10 ** power));
  }
  return ticks.filter((one) => one >= low && one <= high);
}

/** Between each multiple and the next one. */
const ratiosOf = (multiples: readonly number[]): number[] =>
  multiples.map((one, i) => (multiples[i + 1] ?? 10) / one);
