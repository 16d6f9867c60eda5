/** Depth near the price by venue; a click on a row filters by its venue. */
import { useState } from 'preact/hooks';
import { usd } from '../state/format.js';
import { type Ladder, nearText, partUsd, perpsText } from '../ladder/ladder.js';

/** How many venues are listed at first. */
const FIRST = 8;

interface VenueSplitProps {
  ladder: Ladder;
  chosen: readonly string[];
  /** Whether the choice of venues leaves some out. */
  isLimited: boolean;
  onToggle: (venue: string) => void;
}

export function VenueSplit({ ladder, chosen, isLimited, onToggle }: VenueSplitProps) {
  const { parts } = ladder;
  const [isWhole, setWhole] = useState(false);
  // A venue by which the view is filtered stays in sight.
  const shown = isWhole ? parts : parts.filter(({ key }, at) => at < FIRST || chosen.includes(key));
  // Venues outside the choice can be added to it.
  const others = ladder.choices.venues.filter(
    ({ key }) => isLimited && !parts.some((part) => part.key === key),
  );
  const largest = Math.max(1, ...parts.map(partUsd));
  return (
    <section class="card" aria-labelledby="venues-title">
      <header>
        <h2 id="venues-title">Venues</h2>
        <span class="note">{nearText(others.length > 0 ? perpsText() : ladder.perps)}</span>
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
        {others.map((other) => (
          <li key={other.key} class="other">
            <button
              type="button"
              aria-pressed={chosen.includes(other.key)}
              title={`${chosen.includes(other.key) ? 'Leave out' : 'Add'} ${other.label}`}
              onClick={() => onToggle(other.key)}
            >
              <span class="label">+ {other.label}</span>
              <span />
              <span class="figure">{usd(partUsd(other))}</span>
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
