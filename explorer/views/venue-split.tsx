/** Depth near the price by venue; a click on a row filters by its venue. */
import { useState } from 'preact/hooks';
import type { VenueFacet } from '../../client/index.js';
import { usd } from '../state/format.js';
import { type Ladder, NEAR_PCT } from '../ladder/ladder.js';

/** How many venues are listed at first. */
const FIRST = 8;

interface VenueSplitProps {
  ladder: Ladder;
  chosen: readonly string[];
  /** All venues of the snapshot, whatever is chosen. */
  facets: readonly VenueFacet[];
  onToggle: (venue: string) => void;
}

export function VenueSplit({ ladder, chosen, facets, onToggle }: VenueSplitProps) {
  const { parts } = ladder;
  const [isWhole, setWhole] = useState(false);
  // A venue by which the view is filtered stays in sight.
  const shown = isWhole ? parts : parts.filter(({ key }, at) => at < FIRST || chosen.includes(key));
  // Venues outside the choice can be added to it.
  const others = facets
    .filter(({ key }) => chosen.length > 0 && !parts.some((part) => part.key === key))
    .toSorted((a, b) => b.usd - a.usd);
  const largest = Math.max(1, ...parts.map((one) => one.supportUsd + one.resistanceUsd));
  return (
    <section class="card" aria-labelledby="venues-title">
      <header>
        <h2 id="venues-title">Venues</h2>
        <span class="note">within {NEAR_PCT}% of the price, perps too</span>
      </header>
      <ul class="venues">
        {shown.map(({ key, label, supportUsd, resistanceUsd }) => (
          <li key={key}>
            <button
              type="button"
              aria-pressed={chosen.includes(key)}
              title={`${label}: ${usd(supportUsd)} support, ${usd(resistanceUsd)} resistance`}
              onClick={() => onToggle(key)}
            >
              <span class="label">{label}</span>
              <span class="pair" aria-hidden="true">
                <i class="support" style={{ width: `${(supportUsd / largest) * 100}%` }} />
                <i class="resistance" style={{ width: `${(resistanceUsd / largest) * 100}%` }} />
              </span>
              <span class="figure">{usd(supportUsd + resistanceUsd)}</span>
            </button>
          </li>
        ))}
        {others.map(({ key, label, usd: amount }) => (
          <li key={key} class="other">
            <button
              type="button"
              aria-pressed={chosen.includes(key)}
              title={`${chosen.includes(key) ? 'Leave out' : 'Add'} ${label}`}
              onClick={() => onToggle(key)}
            >
              <span class="label">+ {label}</span>
              <span />
              <span class="figure" title="In the whole price band">
                {usd(amount)}
              </span>
            </button>
          </li>
        ))}
      </ul>
      {parts.length > FIRST && (
        <button
          type="button"
          class="plain"
          aria-expanded={isWhole}
          onClick={() => setWhole(!isWhole)}
        >
          {isWhole ? `The first ${FIRST} only` : `All ${parts.length} venues`}
        </button>
      )}
    </section>
  );
}
