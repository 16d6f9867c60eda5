/** The lines of a chart that compares tokens, or the venues of one token. */
import type { DepthSeries } from '../../client/index.js';
import type { Metric } from '../state/url.js';

export interface ChartLine {
  key: string;
  label: string;
  /** One value per time; null if there is none. */
  values: readonly (number | null)[];
}

/** What lines show. */
type LineMetric = Exclude<Metric, 'maps'>;

/** A token's series for one percent, without groups or by venue. */
export interface Compared {
  address: string;
  label: string;
  series: DepthSeries;
}

/** Most venues of a token that are compared: those with the most depth at the last point. */
const MAX_VENUES = 8;

/** All times at which a compared series has a point, and each series' line over these times. */
export function linesOf(
  compared: readonly Compared[],
  metric: LineMetric,
): { t: number[]; lines: ChartLine[] } {
  // The last step ends after the newest snapshot, perhaps even in the future: its point is drawn at that snapshot.
  const newestT = Math.max(...compared.map(({ series }) => series.snapshot_t.at(-1) ?? 0));
  const timesOf = ({ series }: Compared): number[] => series.t.map((t) => Math.min(t, newestT));
  const t = [...new Set(compared.flatMap(timesOf))].sort((a, b) => a - b);
  const place = new Map(t.map((time, at) => [time, at]));
  const lines = compared.flatMap((one) =>
    partsOf(one, metric).map(({ values, ...named }): ChartLine => {
      const spread = t.map((): number | null => null);
      for (const [i, time] of timesOf(one).entries()) spread[place.get(time) ?? 0] = values[i];
      return { ...named, values: spread };
    }),
  );
  return { t, lines };
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
