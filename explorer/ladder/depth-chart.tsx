/** The ladder as a depth chart: support falls towards the price, resistance rises from it. */
import { useState } from 'preact/hooks';
import UPlot from 'uplot';
import { usdText } from '../heatmap/ticks.js';
import { price, signedPercent, usd } from '../state/format.js';
import { theme as themeValue } from '../state/session.js';
import { REACHES_PCT, type TokenView } from '../state/url.js';
import { usePlot } from '../state/use-plot.js';
import { useValue } from '../state/use-value.js';
import { How } from '../views/how.js';
import {
  coverNote,
  coverTitle,
  type DepthCurve,
  depthCurve,
  type Ladder,
  totalsWithin,
} from './ladder.js';

/** Up to this reach, the steps of the ladder are wide enough to be seen. */
const COARSE_PCT = 5;

interface DepthChartProps {
  ladder: Ladder;
  /** The reach that the page chooses. */
  usualPct: number;
  /** Null: usualPct. */
  chosenPct: TokenView['reachPct'];
  onChoose: (reachPct: TokenView['reachPct']) => void;
}

export function DepthChart({ ladder, usualPct, chosenPct, onChoose }: DepthChartProps) {
  const reachPct = chosenPct ?? usualPct;
  const [at, setAt] = useState<number | null>(null);
  const theme = useValue(themeValue);
  const curve = depthCurve(ladder, reachPct);
  const data: UPlot.AlignedData = [curve.pct, curve.supportUsd, curve.resistanceUsd];
  const { root, plot } = usePlot(
    (element) => options(element, setAt),
    data,
    [theme],
    [ladder, reachPct],
  );

  const near = totalsWithin(ladder, reachPct);
  const summary = `Within ${reachPct}% of ${price(ladder.priceUsd)}: ${usd(near.supportUsd)} of support, ${usd(near.resistanceUsd)} of resistance`;
  const read = at === null || at >= curve.pct.length ? null : readingOf(ladder, curve, at);
  /** Moves the cursor as the pointer does; null hides it. */
  const point = (to: number | null): void => {
    const left = to === null ? -1 : (plot.current?.valToPos(curve.pct[to], 'x') ?? -1);
    plot.current?.setCursor({ left, top: to === null ? -1 : 0 });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const to = nextPoint(curve.pct, at, event.key);
    if (to === undefined) return;
    // Otherwise escape would also return to now.
    event.preventDefault();
    point(to);
  };
  return (
    <section class="card" aria-labelledby="ladder-title">
      <header>
        <h2 id="ladder-title">Ladder</h2>
        <div class="segments small" role="group" aria-label="Reach around the price">
          {REACHES_PCT.map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={one === reachPct}
              onClick={() => onChoose(one === usualPct ? null : one)}
            >
              {one}%
            </button>
          ))}
        </div>
      </header>
      <p class="reading" aria-hidden="true">
        {read === null ? (
          <>
            <span class="support">{usd(near.supportUsd)} support</span>
            <span
              class="note"
              title={`Unweighted: the score weights amounts by their distance. ${coverTitle(reachPct)}`}
            >
              ±{reachPct}%, {ladder.perps}
            </span>
            <span class="resistance">{usd(near.resistanceUsd)} resistance</span>
          </>
        ) : (
          <>
            <span>{read.price}</span>
            <span class="note">{read.distance}</span>
            <span class={read.side}>{read.amount} in between</span>
          </>
        )}
      </p>
      <div
        class="depth-chart"
        ref={root}
        tabIndex={0}
        role="slider"
        aria-label="Ladder. Left and right move by 1% steps, escape ends it"
        aria-valuemin={0}
        aria-valuemax={curve.pct.length - 1}
        aria-valuenow={at ?? curve.supportUsd.lastIndexOf(0)}
        aria-valuetext={
          read === null
            ? summary
            : `${read.distance}, ${read.price}: ${read.amount} of ${read.side} in between`
        }
        onKeyDown={onKeyDown}
        onBlur={() => point(null)}
      />
      {reachPct <= COARSE_PCT && (
        <p class="note">
          Within {reachPct}%, {coverNote(reachPct)}. The chart spreads each step evenly.
        </p>
      )}
      <How>{({ ladderSteps }) => ladderSteps(ladder, reachPct)}</How>
    </section>
  );
}

function readingOf(ladder: Ladder, { pct, supportUsd, resistanceUsd }: DepthCurve, at: number) {
  const support = supportUsd[at];
  return {
    price: price(ladder.priceUsd * (1 + pct[at] / 100)),
    distance: signedPercent(pct[at] / 100),
    side: support === null ? 'resistance' : 'support',
    amount: usd(support ?? resistanceUsd[at]),
  };
}

/**
 * The point of the curve to which a key leads: the edge of the next 1% step.
 * @returns null if it hides the cursor, undefined if it does nothing
 */
function nextPoint(
  pct: readonly number[],
  at: number | null,
  key: string,
): number | null | undefined {
  const last = pct.length - 1;
  if (key === 'Escape') return at === null ? undefined : null;
  if (key === 'Home') return 0;
  if (key === 'End') return last;
  const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[key];
  if (step === undefined) return undefined;
  // The middle has a point on either side of the price, which says nothing.
  const above = pct.findIndex((one) => one > 0);
  const from = at ?? (step > 0 ? above : above - 1);
  let to = from + step;
  if (to === above || to === above - 1) to = step > 0 ? above + 1 : above - 2;
  return Math.min(last, Math.max(0, to));
}

/** Enough digits to distinguish the percents on an axis. */
const digitsOf = ([first, second = Infinity]: readonly number[]): number =>
  Math.max(0, -Math.floor(Math.log10(Math.min(1, second - (first ?? 0))) + 1e-9));

/** Uses the colours of the current theme. */
function options(element: HTMLElement, onHover: (at: number | null) => void): UPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  // Text grows with the page's text size on large screens.
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const axis: UPlot.Axis = {
    stroke: colour('--text-faint'),
    font: `${rem * 0.6875}px 'Plex', system-ui, sans-serif`,
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
  };
  const series = (name: string, hue: string): UPlot.Series => ({
    label: name,
    stroke: hue,
    width: 1.5,
    fill: `color-mix(in srgb, ${hue} 22%, transparent)`,
    // A bin's amount is spread evenly over its prices, as in /slippage.
    paths: UPlot.paths.linear?.(),
    points: { show: false },
  });
  return {
    width: element.clientWidth,
    height: element.clientHeight,
    // Half of the last label extends beyond the axis.
    padding: [8, rem * 1.1, 0, 0],
    legend: { show: false },
    scales: { x: { time: false }, y: { range: (_, __, max) => [0, max * 1.05 || 1] } },
    cursor: { drag: { x: false, y: false }, y: false, points: { show: false } },
    axes: [
      {
        ...axis,
        size: rem * 1.5,
        gap: 4,
        values: (_, ticks) => ticks.map((pct) => signedPercent(pct / 100, digitsOf(ticks))),
      },
      { ...axis, size: rem * 3, gap: 4, values: (_, ticks) => ticks.map(usdText) },
    ],
    series: [
      {},
      series('support', colour('--support')),
      series('resistance', colour('--resistance')),
    ],
    hooks: { setCursor: [({ cursor }) => onHover(cursor.idx ?? null)] },
  };
}
