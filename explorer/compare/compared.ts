/** The lines of a chart that compares tokens, or the venues of one token. */
import type { DepthSeries } from '../../client/index.js';
import { stepSeconds } from '../heatmap/detail.js';
import { type Gap, gapBetween, longestWholeS } from '../state/gaps.js';
import type { Metric } from '../state/url.js';

export interface ChartLine {
  key: string;
  label: string;
  /** One value per time; undefined between two points that a line joins, null if there is none. */
  values: readonly (number | null | undefined)[];
  /** What is known of each value if it is not exact. */
  bounds?: { least: ChartLine['values']; most: ChartLine['values'] };
}

/** What lines show. */
type LineMetric = Exclude<Metric, 'maps' | 'cost' | 'cost-time'>;

/** A token's series for one percent, without groups or by venue. */
export interface Compared {
  address: string;
  label: string;
  series: DepthSeries;
  /** The gaps of the token's history. */
  gaps: readonly Gap[];
}

/** Most venues of a token that are compared: those with the most depth at the last point. */
const MAX_VENUES = 8;

/** All times at which a compared series has a point or its line breaks, and each series' line over these times. */
export function linesOf(
  compared: readonly Compared[],
  metric: LineMetric,
): { t: number[]; lines: ChartLine[] } {
  // The last step ends after the newest snapshot, perhaps even in the future: its point is drawn at that snapshot.
  const newestT = Math.max(...compared.map(({ series }) => series.snapshot_t.at(-1) ?? 0));
  const timesOf = ({ series }: Compared): number[] => series.t.map((t) => Math.min(t, newestT));
  const breaks = new Map(compared.map((one) => [one, breaksOf(one, timesOf(one))]));
  const times = compared.flatMap((one) => [...timesOf(one), ...(breaks.get(one) ?? [])]);
  const t = [...new Set(times)].sort((a, b) => a - b);
  const place = new Map(t.map((time, at) => [time, at]));
  const lines = compared.flatMap((one) => {
    const own = timesOf(one);
    const first = place.get(own[0]) ?? Infinity;
    // The newest point counts until the newest one of all, unless it is old.
    const last = isOld(one, newestT) ? (place.get(own.at(-1) ?? 0) ?? -1) : Infinity;
    return partsOf(one, metric).map(({ values, ...named }): ChartLine => {
      const spread = t.map((_, at) => (at > first && at < last ? undefined : null));
      const line: (number | null | undefined)[] = spread;
      for (const [i, time] of own.entries()) line[place.get(time) ?? 0] = values[i];
      for (const time of breaks.get(one) ?? []) line[place.get(time) ?? 0] = null;
      return { ...named, values: line };
    });
  });
  return { t, lines };
}

/** Whether snapshots are missing since a series' newest one. */
function isOld({ series: { snapshot_t: times, step } }: Compared, newestT: number): boolean {
  return newestT - (times.at(-1) ?? -Infinity) > longestWholeS(times, stepSeconds(step));
}

/** Times between two points at which the history has a gap. */
function breaksOf({ series, gaps }: Compared, times: readonly number[]): number[] {
  const { snapshot_t: snapshots } = series;
  return times.slice(1).flatMap((next, i) => {
    const isWhole = gapBetween(gaps, snapshots[i], snapshots[i + 1]) === undefined;
    return isWhole || next - times[i] < 2 ? [] : [times[i] + 1];
  });
}

/** The end of the newest hole: steps without a point between two that have one. Null if there is none. */
export function newestHole({ t, step }: DepthSeries): number | null {
  const stepS = stepSeconds(step);
  return t.findLast((time, i) => i > 0 && time - t[i - 1] > stepS) ?? null;
}

/** The value of a line at a time, or the one that its last point before that gives it; null in a gap. */
export function valueAt(values: ChartLine['values'], at: number): number | null {
  for (let i = at; i >= 0; i--) {
    const { [i]: value } = values;
    if (value !== undefined) return value;
  }
  return null;
}

function partsOf({ address, label, series }: Compared, metric: LineMetric) {
  const { groups } = series;
  if (groups !== undefined) {
    const support = series.support_usd as number[][][];
    const resistance = series.resistance_usd as number[][][];
    return groups
      .map(({ key, label: venue }, at) => ({
        key,
        label: venue,
        values: sums(support[at][0], resistance[at][0]),
      }))
      .toSorted((a, b) => (b.values.at(-1) ?? 0) - (a.values.at(-1) ?? 0))
      .slice(0, MAX_VENUES);
  }
  const [first] = series.price_usd;
  const values = {
    depth: () =>
      sums((series.support_usd as number[][])[0], (series.resistance_usd as number[][])[0]),
    score: () => series.score ?? [],
    // Prices of different tokens are compared by their change.
    price: () => series.price_usd.map((price) => price / first - 1),
  }[metric]();
  return [{ key: address, label, values: values }];
}

/** Amounts are cents. */
const sums = (support: readonly number[], resistance: readonly number[]): (number | null)[] =>
  support.map((usd, at) => Math.round(100 * (usd + resistance[at])) / 100);
