/** Lines over a common time axis, with their values at the cursor. */
import { useState } from 'preact/hooks';
import UPlot from 'uplot';
import { boundedData, boundedLines } from '../orders/bounded-lines.js';
import { absoluteTime, NONE } from '../state/format.js';
import { theme as themeValue } from '../state/session.js';
import { usePlot } from '../state/use-plot.js';
import { useValue } from '../state/use-value.js';
import { zone as zoneValue } from '../state/zone.js';
import { backgroundOf, type Hue } from '../strips/hues.js';
import { type ChartLine, valueAt } from './compared.js';
import { rangeOf, ticksBetween, type ValueAxis } from './value-axis.js';

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

interface LineChartProps {
  /** What the lines show, for screen readers. */
  label: string;
  /** Epoch seconds, ascending. */
  t: readonly number[];
  /** At most 8: the theme has the colours `--series-1` to `--series-8`. */
  lines: readonly ChartLine[];
  /** The lines' own colours; null: those of the theme. */
  hues: readonly Hue[] | null;
  format: (value: number) => string;
  axis: ValueAxis;
}

export function LineChart(props: LineChartProps) {
  const { label, t, lines, hues, format, axis } = props;
  const [at, setAt] = useState<number | null>(null);
  const theme = useValue(themeValue);
  const zone = useValue(zoneValue);
  const data = boundedData(t, lines);
  const names = lines.map(({ key }) => key).join();
  const { root } = usePlot(
    (element) => optionsOf(element, props, setAt),
    data,
    [theme, zone, names, format, axis],
    [t, lines],
  );
  // Without a cursor, shows the newest values.
  const shown = at ?? t.length - 1;
  return (
    <figure class="line-chart">
      <figcaption>
        <span class="note">{t.length === 0 ? '' : absoluteTime(t[shown])}</span>
        <ul>
          {lines.map(({ key, label: name, values, bounds }, i) => (
            <li key={key}>
              <i style={{ background: backgroundOf(hueOf(hues, i)) }} aria-hidden="true" />
              {name} <b>{valueText(valueAt(values, shown), format)}</b>
              {bounds !== undefined && valueAt(values, shown) !== null && (
                <span class="note">
                  {' '}
                  {valueText(valueAt(bounds.least, shown), format)} to{' '}
                  {valueText(valueAt(bounds.most, shown), format)}
                </span>
              )}
            </li>
          ))}
        </ul>
      </figcaption>
      <div class="line-chart-frame" ref={root} role="img" aria-label={label} />
    </figure>
  );
}

const hueOf = (hues: readonly Hue[] | null, i: number): Hue =>
  hues?.[i] ?? { colour: `var(--series-${i + 1})`, stripePx: 0 };

/** A line of a colour that an earlier one has is dashed. */
const dashOf = ({ stripePx: px }: Hue): number[] => (px === 0 ? [] : [2 * px, px]);

const valueText = (value: number | null, format: (value: number) => string): string =>
  value === null ? NONE : format(value);

/** `$7.50M` as `$7.5M`, `$20.0M` as `$20M`: round numbers of an axis. */
const shortened = (text: string): string =>
  text.replace(/\.(\d*?)0+(?=\D*$)/, (_, digits: string) => (digits === '' ? '' : `.${digits}`));

/** Uses the colours of the current theme. */
function optionsOf(
  element: HTMLElement,
  { lines, hues, format, axis: valueAxis }: LineChartProps,
  onHover: (at: number | null) => void,
): UPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const axis: UPlot.Axis = {
    stroke: colour('--text-faint'),
    font: `${rem * 0.6875}px 'Plex', system-ui, sans-serif`,
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
  };
  const { series, bands, focus, cursorFocus, setSeries } = boundedLines(
    lines.map(({ label, bounds }, i) => ({
      label,
      stroke: hues?.[i].colour ?? colour(`--series-${i + 1}`),
      dash: dashOf(hueOf(hues, i)),
      hasBounds: bounds !== undefined,
    })),
  );
  return {
    ...{ series, bands, focus },
    width: element.clientWidth,
    height: element.clientHeight,
    padding: [8, rem, 0, 0],
    legend: { show: false },
    tzDate: (s) => {
      const date = new Date(s * 1000);
      return zoneValue.value === 'utc' ? UPlot.tzDate(date, 'Etc/UTC') : date;
    },
    scales: {
      y: {
        distr: valueAxis === 'log' ? 3 : 1,
        range: (_, low, high) => rangeOf(valueAxis, low, high),
      },
    },
    cursor: { drag: { x: false, y: false }, y: false, focus: cursorFocus },
    axes: [
      {
        ...axis,
        size: rem * 2.5,
        values: (_, ticks, __, ___, stepS) => ticks.map((s) => tickText(s, stepS)),
      },
      {
        ...axis,
        size: rem * 4,
        values: (_, ticks) => ticks.map((value) => shortened(format(value))),
        ...(valueAxis === 'log' ? logTicks(rem) : {}),
      },
    ],
    hooks: { setCursor: [({ cursor }) => onHover(cursor.idx ?? null)], setSeries: [setSeries] },
  };
}

/** `Nov 20`, or the time of day if ticks are less than a day apart. */
function tickText(s: number, stepS: number): string {
  const [, day, time] = /^\d{4}-(\S+) (\d\d:\d\d)/.exec(absoluteTime(s)) ?? [];
  if (stepS < 86_400 && time !== '00:00') return time;
  const [month, date] = day.split('-').map(Number);
  return `${MONTHS[month - 1]} ${date}`;
}

/** Round values, a label's height apart or more. */
function logTicks(rem: number): Pick<UPlot.Axis, 'splits' | 'filter'> {
  return {
    splits: ({ height }, _, low, high) => ticksBetween(low, high, (2 * rem) / (height - 2.5 * rem)),
    filter: (_, ticks) => ticks,
  };
}
