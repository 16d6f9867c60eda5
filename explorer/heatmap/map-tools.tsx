/** Tools of the map that are loaded after it: the axis of prices, and the range of the colours by hand. */
import { useState } from 'preact/hooks';
import { Popover } from '../frame/popover.js';
import { AXES, type TokenView } from '../state/url.js';
import { amountOf } from '../views/amount.js';
import type { Scale } from './amounts.js';
import { usdText } from './ticks.js';

interface MapToolsProps {
  /** The scale in use. */
  scale: Scale;
  /** The one set by hand; null: by the data. */
  colours: TokenView['colours'];
  axis: TokenView['axis'];
  onChange: (chosen: Partial<Pick<TokenView, 'colours' | 'axis'>>) => void;
}

const AXIS_LABELS = { usd: '$', pct: '%' } as const;
const AXIS_TITLES = {
  usd: 'Prices in USD',
  pct: 'Distances from the last price in sight, in percent',
} as const;

export function MapTools({ scale, colours, axis, onChange }: MapToolsProps) {
  return (
    <div class="map-tools">
      <div class="segments small" role="group" aria-label="Price axis">
        {AXES.map((one) => (
          <button
            key={one}
            type="button"
            aria-label={one === 'usd' ? 'Axis in USD' : 'Axis in percent'}
            title={AXIS_TITLES[one]}
            aria-pressed={one === axis}
            onClick={() => onChange({ axis: one })}
          >
            {AXIS_LABELS[one]}
          </button>
        ))}
      </div>
      <Popover
        label={
          <>
            Colours <span class="note">{colours === null ? 'by data' : 'by hand'}</span>
          </>
        }
        name="Colours"
        title="The amounts of the faintest and of the strongest colour"
      >
        <ColourRange {...{ scale, colours, onChange }} />
      </Popover>
    </div>
  );
}

function ColourRange({ scale, colours, onChange }: Omit<MapToolsProps, 'axis'>) {
  const shown = colours ?? scale;
  const [low, setLow] = useState(usdText(shown.lowUsd));
  const [high, setHigh] = useState(usdText(shown.highUsd));
  const [isOdd, setOdd] = useState(false);
  const submit = (event: Event): void => {
    event.preventDefault();
    const [lowUsd, highUsd] = [amountOf(low), amountOf(high)];
    const isRange = lowUsd !== null && highUsd !== null && lowUsd < highUsd;
    setOdd(!isRange);
    if (isRange) onChange({ colours: { lowUsd, highUsd } });
  };
  const field = (label: string, value: string, set: (text: string) => void) => (
    <input
      type="text"
      inputMode="decimal"
      aria-label={label}
      aria-invalid={isOdd}
      value={value}
      onInput={(event) => {
        set(event.currentTarget.value);
        setOdd(false);
      }}
    />
  );
  return (
    <form class="map-colours" onSubmit={submit}>
      {field('USD of the faintest colour', low, setLow)} to{' '}
      {field('USD of the strongest colour', high, setHigh)}
      <button type="submit" class="map-tool">
        Apply
      </button>
      {colours !== null && (
        <button type="button" class="map-tool" onClick={() => onChange({ colours: null })}>
          By the data
        </button>
      )}
      <span role="status">
        {isOdd && 'Expected two amounts of USD such as 10K and 5M, the lower one first'}
      </span>
    </form>
  );
}
