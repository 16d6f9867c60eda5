/** The toolbar of the page Compare: what it shows, of which depth and window, and by which parts. */
import { perpsText } from '../ladder/ladder.js';
import { percent } from '../state/format.js';
import { EXPECTED_AMOUNT, useAmount } from '../orders/use-amount.js';
import {
  COMPARE_PCTS,
  type CompareView,
  COST_UNITS,
  METRICS,
  type Order,
  PARTS,
  PRESETS,
  SCALES,
  SIDES,
} from '../state/url.js';
import { amountText } from '../views/amount.js';
import { USUAL_USD } from './costs.js';
import { hasParts, isCost, partsOf } from './parts.js';

export const METRIC_LABELS = {
  depth: 'Depth',
  score: 'Score',
  price: 'Price change',
  cost: 'Cost by size',
  'cost-time': 'Cost over time',
  maps: 'Maps',
} as const;
const SCALE_LABELS = { linear: 'Linear', log: 'Log' } as const;
const PART_LABELS = { venue: 'By venue', type: 'By type' } as const;

interface CompareChoicesProps {
  view: CompareView;
  onChange: (part: Partial<CompareView>) => void;
}

export function CompareChoices({ view, onChange: change }: CompareChoicesProps) {
  const { tokens, metric, pct, scale, window } = view;
  const parts = partsOf(view);
  return (
    <div class="filters" role="toolbar" aria-label="Choices">
      <Choices
        label="Show"
        options={METRICS.map((value) => ({ value, label: METRIC_LABELS[value] }))}
        chosen={metric}
        onChoose={(value) => change({ metric: value, ...(hasParts(value) ? {} : { parts: null }) })}
      />
      {metric === 'depth' && (
        <>
          <Choices
            label="Within"
            options={COMPARE_PCTS.map((value) => ({ value, label: percent(value / 100, 0) }))}
            chosen={pct}
            onChoose={(value) => change({ pct: value })}
          />
          <span class="note">of the price, {perpsText()}</span>
          <Choices
            label="Scale"
            options={SCALES.map((value) => ({ value, label: SCALE_LABELS[value] }))}
            chosen={scale}
            onChoose={(value) => change({ scale: value })}
          />
        </>
      )}
      {isCost(metric) && (
        <OrderChoices
          order={view.order}
          onChange={(order) => change({ order: { ...view.order, ...order } })}
        />
      )}
      {metric !== 'cost' && (
        <Choices
          label="Window"
          options={PRESETS.map((value) => ({ value, label: value }))}
          chosen={window}
          onChoose={(value) => change({ window: value })}
        />
      )}
      {tokens.length === 1 &&
        PARTS.map((value) => (
          <button
            key={value}
            type="button"
            class="tool"
            aria-pressed={parts === value}
            onClick={() =>
              change({
                parts: parts === value ? null : value,
                metric: hasParts(metric) ? metric : 'depth',
              })
            }
          >
            {PART_LABELS[value]}
          </button>
        ))}
    </div>
  );
}

function OrderChoices({
  order,
  onChange,
}: {
  order: Order;
  onChange: (order: Partial<Order>) => void;
}) {
  const { text, setText, isOdd } = useAmount(order.usd, (usd) => onChange({ usd }));
  return (
    <>
      <Choices
        label="Order to"
        options={SIDES.map((value) => ({ value, label: value === 'sell' ? 'Sell' : 'Buy' }))}
        chosen={order.side}
        onChoose={(side) => onChange({ side })}
      />
      <label class="choice-group">
        <span class="note">USD</span>
        <input
          type="text"
          class="find amount"
          inputMode="decimal"
          placeholder={amountText(USUAL_USD)}
          aria-label={`USD to ${order.side}`}
          aria-invalid={isOdd}
          title={isOdd ? EXPECTED_AMOUNT : undefined}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <Choices
        label="Cost in"
        options={COST_UNITS.map((value) => ({ value, label: value === 'usd' ? 'USD' : '%' }))}
        chosen={order.unit}
        onChoose={(unit) => onChange({ unit })}
      />
      {isOdd && <span class="note">{EXPECTED_AMOUNT}</span>}
    </>
  );
}

function Choices<T extends string | number>(props: {
  label: string;
  options: readonly { value: T; label: string }[];
  chosen: T;
  onChoose: (value: T) => void;
}) {
  const { label, options, chosen, onChoose } = props;
  return (
    <div class="choice-group">
      <span class="note">{label}</span>
      <div class="segments" role="group" aria-label={label}>
        {options.map((option) => (
          <button
            key={option.value}
            type="button"
            aria-pressed={option.value === chosen}
            onClick={() => onChoose(option.value)}
          >
            {option.label}
          </button>
        ))}
      </div>
    </div>
  );
}
