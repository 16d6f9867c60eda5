/** The curve of size against cost, with the bounds that the ladder's 1% steps leave open. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type UPlot from 'uplot';
import { rangeOf, ticksBetween } from '../compare/value-axis.js';
import { finePercent, usd as usdText } from '../state/format.js';
import { theme as themeValue } from '../state/session.js';
import { usePlot } from '../state/use-plot.js';
import { useValue } from '../state/use-value.js';
import { boundedData, boundedLines } from './bounded-lines.js';
import { type Cost, costIn, type CostPoint, type CostUnit } from './cost.js';
import './orders.css';

export interface CostLine {
  key: string;
  label: string;
  /** A colour of the theme, such as `--series-1`. */
  hue: string;
  /** By size. */
  points: readonly CostPoint[];
}

interface CostChartProps {
  label: string;
  /** At least one. */
  lines: readonly CostLine[];
  unit: CostUnit;
  /** The entered amount. */
  usd: number | null;
  /** Called with a size on which the reader clicks. */
  onChoose?: (usd: number) => void;
}

/** The room of a label on either axis, in text sizes. */
const TICK_GAP_REM = { x: 3.6, y: 1.7 };

export function CostChart({ label, lines, unit, usd, onChoose }: CostChartProps) {
  const [at, setAt] = useState<number | null>(null);
  const theme = useValue(themeValue);
  const sizes = sizesOf(lines);
  const range = yRange(lines, unit);
  const shown = useRef({ range, usd });
  shown.current = { range, usd };
  const data = dataOf(lines, unit, sizes, range);
  const hues = lines.map(({ hue }) => hue).join();
  const { root, plot } = usePlot(
    (element) => optionsOf(element, { lines, unit, shown: () => shown.current, setAt }),
    data,
    [theme, unit, hues],
    [lines, unit],
  );
  useEffect(() => plot.current?.redraw(false), [usd]);

  const marked = usd === null ? -1 : sizes.indexOf(usd);
  const read = at !== null && at < sizes.length ? at : marked >= 0 ? marked : sizes.length - 1;
  /** Moves the cursor as the pointer does; null hides it. */
  const point = (to: number | null): void => {
    const left = to === null ? -1 : (plot.current?.valToPos(sizes[to], 'x') ?? -1);
    plot.current?.setCursor({ left, top: to === null ? -1 : 0 });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const keys: Record<string, number | null> = {
      ArrowRight: read + 1,
      ArrowUp: read + 1,
      ArrowLeft: read - 1,
      ArrowDown: read - 1,
      Home: 0,
      End: sizes.length - 1,
      ...(at === null ? {} : { Escape: null }),
    };
    if (event.key === 'Enter' && at !== null) return onChoose?.(sizes[at]);
    const to = keys[event.key];
    if (to === undefined) return;
    // Otherwise escape would also return to now.
    event.preventDefault();
    point(to === null ? null : Math.min(sizes.length - 1, Math.max(0, to)));
  };
  const readings = lines.map((line) => ({
    ...line,
    point: line.points.find((one) => one.usd === sizes[read]) ?? null,
  }));
  const spoken = readings.map(({ label: name, point: of }) =>
    [lines.length > 1 && name, of === null ? 'more than the ladder has' : costText(of, unit)]
      .filter(Boolean)
      .join(' '),
  );
  return (
    <figure class="cost-curve">
      <figcaption aria-hidden="true">
        <b>{usdText(sizes[read])}</b>
        <ul>
          {readings.map(({ key, label: name, hue, point: of }) => (
            <li key={key}>
              {lines.length > 1 && (
                <>
                  <i style={{ background: `var(${hue})` }} />
                  {name}{' '}
                </>
              )}
              {of === null ? (
                <span class="note">more than the ladder has</span>
              ) : (
                <>
                  <b>{amountText(costIn(of, unit).mean, unit)}</b>{' '}
                  <span class="note">{boundsText(costIn(of, unit), unit)}</span>
                </>
              )}
            </li>
          ))}
        </ul>
      </figcaption>
      <div
        class="cost-chart"
        ref={root}
        tabIndex={0}
        role="slider"
        aria-label={`${label}. Left and right move by size${onChoose === undefined ? '' : ', enter takes it'}, escape ends it`}
        aria-valuemin={0}
        aria-valuemax={sizes.length - 1}
        aria-valuenow={read}
        aria-valuetext={`${usdText(sizes[read])}: ${spoken.join('; ')}`}
        onKeyDown={onKeyDown}
        onBlur={() => point(null)}
        onClick={() => at !== null && onChoose?.(sizes[at])}
      />
    </figure>
  );
}

export const amountText = (cost: number, unit: CostUnit): string =>
  unit === 'usd' ? usdText(cost) : finePercent(cost / 100);

/** `$410 to $850`. */
export const boundsText = ({ least, most }: Cost, unit: CostUnit): string =>
  `${amountText(least, unit)} to ${amountText(most, unit)}`;

const costText = (point: CostPoint, unit: CostUnit): string => {
  const cost = costIn(point, unit);
  return `${amountText(cost.mean, unit)}, ${boundsText(cost, unit)}`;
};

/** The sizes of all lines, ascending. */
const sizesOf = (lines: readonly CostLine[]): number[] =>
  [...new Set(lines.flatMap(({ points }) => points.map(({ usd }) => usd)))].sort((a, b) => a - b);

/** USD span several powers of ten: their axis is logarithmic. */
const axisOf = (unit: CostUnit) => (unit === 'usd' ? 'log' : 'from zero');

function yRange(lines: readonly CostLine[], unit: CostUnit): [number, number] {
  const costs = lines.flatMap(({ points }) => points.map((one) => costIn(one, unit)));
  const means = costs.map(({ mean }) => mean).filter((mean) => mean > 0);
  if (means.length === 0) return [unit === 'usd' ? 0.01 : 0, 1];
  return rangeOf(axisOf(unit), Math.min(...means), Math.max(...costs.map(({ most }) => most)));
}

/** A bound of 0 lies at the bottom of a logarithmic axis. */
function dataOf(
  lines: readonly CostLine[],
  unit: CostUnit,
  sizes: readonly number[],
  [low]: readonly [number, number],
): UPlot.AlignedData {
  return boundedData(
    sizes,
    lines.map(({ points }) => {
      const costs = new Map(points.map((one) => [one.usd, costIn(one, unit)]));
      const of = (part: keyof Cost) =>
        sizes.map((usd) => {
          const cost = costs.get(usd)?.[part];
          return cost === undefined ? null : Math.max(low, cost);
        });
      return { values: of('mean'), bounds: { least: of('least'), most: of('most') } };
    }),
  );
}

interface Options {
  lines: readonly CostLine[];
  unit: CostUnit;
  /** What changes while the chart stays: the axis of costs, and the entered amount. */
  shown: () => { range: [number, number]; usd: number | null };
  setAt: (at: number | null) => void;
}

/** Uses the colours of the current theme. */
function optionsOf(element: HTMLElement, { lines, unit, shown, setAt }: Options): UPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const axis: UPlot.Axis = {
    stroke: colour('--text-faint'),
    font: `${rem * 0.6875}px 'Plex', system-ui, sans-serif`,
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
    gap: 4,
  };
  const logTicks = (px: number, gapRem: number) => (low: number, high: number) =>
    ticksBetween(low, high, (gapRem * rem) / Math.max(px, 1));
  const { series, bands, focus, cursorFocus, setSeries } = boundedLines(
    lines.map(({ label, hue }) => ({ label, stroke: colour(hue), hasBounds: true })),
  );
  return {
    ...{ series, bands, focus },
    width: element.clientWidth,
    height: element.clientHeight,
    padding: [8, rem * 1.1, 0, 0],
    legend: { show: false },
    scales: {
      x: { time: false, distr: 3, range: (_, low, high) => [low, high > low ? high : low * 2] },
      y: { distr: unit === 'usd' ? 3 : 1, range: () => shown().range },
    },
    cursor: {
      drag: { x: false, y: false },
      y: false,
      points: { show: false },
      focus: cursorFocus,
    },
    axes: [
      {
        ...axis,
        size: rem * 1.5,
        splits: ({ width }, _, low, high) => logTicks(width - 3 * rem, TICK_GAP_REM.x)(low, high),
        filter: (_, ticks) => ticks,
        values: (_, ticks) => ticks.map((usd) => shortUsd(usd)),
      },
      {
        ...axis,
        size: rem * 3,
        values: (_, ticks) =>
          ticks.map((cost) =>
            unit === 'usd' ? shortUsd(cost) : `${Number(cost.toPrecision(6))}%`,
          ),
        ...(unit === 'usd'
          ? {
              splits: ({ height }: UPlot, _: number, low: number, high: number) =>
                logTicks(height - 2 * rem, TICK_GAP_REM.y)(low, high),
              filter: (_: UPlot, ticks: number[]) => ticks,
            }
          : {}),
      },
    ],
    hooks: {
      setCursor: [({ cursor }) => setAt(cursor.idx ?? null)],
      setSeries: [setSeries],
      draw: [(made) => drawMark(made, shown().usd, colour('--text-soft'))],
    },
  };
}

/** A line at the entered amount. */
function drawMark(plot: UPlot, usd: number | null, stroke: string): void {
  const { min = 0, max = 0 } = plot.scales.x;
  if (usd === null || min === null || max === null || usd < min || usd > max) return;
  const { ctx, bbox } = plot;
  const x = Math.round(plot.valToPos(usd, 'x', true)) + 0.5;
  ctx.save();
  ctx.strokeStyle = stroke;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}

/** `$7.50M` as `$7.5M`: round numbers of an axis. */
const shortUsd = (usd: number): string =>
  usdText(usd).replace(/\.(\d*?)0+(?=\D*$)/, (_, digits: string) =>
    digits === '' ? '' : `.${digits}`,
  );
