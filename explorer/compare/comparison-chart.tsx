/** The compared series as lines, or their maps. */
import type { AddressClient } from '../../client/address-client.js';
import { Empty } from '../frame/states.js';
import { signedPercent, usd } from '../state/format.js';
import type { CompareView } from '../state/url.js';
import { theme as themeValue } from '../state/session.js';
import { useValue } from '../state/use-value.js';
import { huesOf } from '../strips/hues.js';
import { METRIC_LABELS } from './choices.js';
import type { linesOf } from './compared.js';
import { LineChart } from './line-chart.js';
import { MapGrid, type MapPart } from './map-grid.js';
import { isCost, partsOf } from './parts.js';

const FORMATS = {
  depth: usd,
  score: (value: number): string => value.toFixed(1),
  price: (value: number): string => signedPercent(value, 2),
} as const;

interface ComparisonChartProps extends ReturnType<typeof linesOf> {
  view: CompareView;
  client: AddressClient | null;
  maps: MapPart[];
}

export function ComparisonChart({ view, client, t, lines, maps }: ComparisonChartProps) {
  const { metric, scale, window } = view;
  const theme = useValue(themeValue);
  if (t.length === 0) return <Empty title="No depth in this window">Choose a longer one.</Empty>;
  if (isCost(metric)) return null;
  if (metric === 'maps') {
    return client === null ? null : <MapGrid {...{ client, window }} parts={maps} />;
  }
  const axis = metric === 'depth' && scale === 'log' ? 'log' : 'from zero';
  return (
    <LineChart
      label={`${METRIC_LABELS[metric]} of ${lines.map(({ label }) => label).join(', ')}`}
      {...{ t, lines }}
      hues={
        partsOf(view) === null
          ? null
          : huesOf(
              lines.map(({ key }) => key),
              theme,
            )
      }
      format={FORMATS[metric]}
      axis={metric === 'price' ? 'fitted' : axis}
    />
  );
}
