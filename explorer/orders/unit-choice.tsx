/** Whether charts show costs in USD or in percent. */
import { COST_UNITS } from '../state/url.js';
import type { CostUnit } from './cost.js';

interface UnitChoiceProps {
  unit: CostUnit;
  onChange: (unit: CostUnit) => void;
}

export function UnitChoice({ unit, onChange }: UnitChoiceProps) {
  return (
    <div class="segments small" role="group" aria-label="Costs in">
      {COST_UNITS.map((one) => (
        <button key={one} type="button" aria-pressed={one === unit} onClick={() => onChange(one)}>
          {one === 'usd' ? 'USD' : '%'}
        </button>
      ))}
    </div>
  );
}
