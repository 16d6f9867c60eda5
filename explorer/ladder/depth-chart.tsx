/** The ladder as a depth chart: support falls towards the price, resistance rises from it. */
import { useEffect, useRef, useState } from 'preact/hooks';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { usdText } from '../heatmap/ticks.js';
import { price, signedPercent, usd } from '../state/format.js';
import { theme as themeValue } from '../state/session.js';
import { useValue } from '../state/use-value.js';
import { How } from '../views/how.js';
import { depthCurve, type Ladder, nearTotals, NEAR_PCT } from './ladder.js';

const REACHES_PCT = [5, 10, 25, 50] as const;

export function DepthChart({ ladder }: { ladder: Ladder }) {
  const root = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | null>(null);
  const [reachPct, setReach] = useState<number>(NEAR_PCT);
  const [at, setAt] = useState<number | null>(null);
  const theme = useValue(themeValue);
  const curve = depthCurve(ladder, reachPct);
  const data: UPlot.AlignedData = [curve.pct, curve.supportUsd, curve.resistanceUsd];

  useEffect(() => {
    const element = root.current;
    if (element === null) return;
    const made = new UPlot(options(element, setAt), data, element);
    plot.current = made;
    const watch = new ResizeObserver(() =>
      made.setSize({ width: element.clientWidth, height: element.clientHeight }),
    );
    watch.observe(element);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [theme]);
  useEffect(() => plot.current?.setData(data), [ladder, reachPct]);

  const near = nearTotals(ladder);
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
              onClick={() => setReach(one)}
            >
              {one}%
            </button>
          ))}
        </div>
      </header>
      <p class="reading" aria-hidden="true">
        {at === null ? (
          <>
            <span class="support">{usd(near.supportUsd)} support</span>
            <span
              class="note"
              title="All markets, perps too; the score weights amounts by their distance"
            >
              unweighted, ±{NEAR_PCT}%
            </span>
            <span class="resistance">{usd(near.resistanceUsd)} resistance</span>
          </>
        ) : (
          <Reading
            ladder={ladder}
            pct={curve.pct[at]}
            amounts={[curve.supportUsd[at], curve.resistanceUsd[at]]}
          />
        )}
      </p>
      <div
        class="depth-chart"
        ref={root}
        role="img"
        aria-label={`Within ${NEAR_PCT}% of ${price(ladder.priceUsd)}: ${usd(near.supportUsd)} of support, ${usd(near.resistanceUsd)} of resistance`}
      />
      <How>{({ ladderSteps }) => ladderSteps(ladder)}</How>
    </section>
  );
}

function Reading(props: { ladder: Ladder; pct: number; amounts: (number | null)[] }) {
  const { ladder, pct, amounts } = props;
  const [support] = amounts;
  const isSupport = support !== null;
  return (
    <>
      <span>{price(ladder.priceUsd * (1 + pct / 100))}</span>
      <span class="note">{signedPercent(pct / 100)}</span>
      <span class={isSupport ? 'support' : 'resistance'}>
        {usd(isSupport ? support : amounts[1])} in between
      </span>
    </>
  );
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
