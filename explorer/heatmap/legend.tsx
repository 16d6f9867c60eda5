/** The meaning of the colours. */
import { type Scale, scaleTicks, shadeOf } from './amounts.js';
import { colourOf, cssOf, hatchOf, type Theme } from './palette.js';
import { usdText } from './ticks.js';

const STOPS = 12;

export function Legend({ scale, theme }: { scale: Scale; theme: Theme }) {
  const ramp = (side: 'support' | 'resistance'): string => {
    const stops = Array.from({ length: STOPS + 1 }, (_, i) =>
      cssOf(colourOf(theme, side, i / STOPS)),
    );
    return `linear-gradient(to right, ${stops.join(', ')})`;
  };
  const ticks = scaleTicks(scale);
  return (
    <div
      class="heatmap-legend"
      data-scale={`${scale.lowUsd} ${scale.highUsd}`}
      title="USD in each 1% step of the price, on a logarithmic scale. Where several snapshots lie in one pixel, it shows their mean."
    >
      <span class="heatmap-legend-name heatmap-support">Support</span>
      <span class="heatmap-legend-name heatmap-resistance">Resistance</span>
      <div
        class="heatmap-ramps"
        role="img"
        aria-label={`Colours from ${usdText(scale.lowUsd)} to ${usdText(scale.highUsd)} in each 1% step`}
      >
        <div style={{ background: ramp('support') }} />
        <div style={{ background: ramp('resistance') }} />
        <div class="heatmap-legend-ticks" aria-hidden="true">
          {ticks.map((usd) => (
            <span
              key={usd}
              class={placeOf(shadeOf(usd, scale))}
              style={{ left: `${100 * shadeOf(usd, scale)}%` }}
            >
              {usdText(usd)}
            </span>
          ))}
        </div>
      </div>
      <span class="heatmap-legend-unit">per 1% step</span>
      <span class="heatmap-legend-gap">
        <i style={{ '--hatch': cssOf(hatchOf(theme)) }} />
        no data
      </span>
    </div>
  );
}

/** Keeps the labels at the ends above the colours. */
function placeOf(shade: number): string {
  if (shade < 0.05) return 'is-first';
  return shade > 0.95 ? 'is-last' : '';
}
