/** What the menus of types and venues list: each can be left out, or be the only one. It is loaded after the page. */
import type { Coverage } from '../../client/index.js';
import { type LadderPart, nearText, partUsd, perpsText } from '../ladder/ladder.js';
import { usd } from '../state/format.js';
import { without } from '../state/choices.js';
import { venueKey } from '../state/venue-key.js';

export interface ChoiceListProps {
  /** Of the snapshot shown, with their amounts. */
  parts: readonly LadderPart[];
  /** Names venues that the snapshot does not have; null: there are none. */
  coverage: Coverage | null;
  /** Empty: all. */
  chosen: readonly string[];
  onChange: (chosen: string[]) => void;
}

export function ChoiceList({ parts, coverage, chosen, onChange }: ChoiceListProps) {
  const isAll = chosen.length === 0;
  const past = (coverage?.markets ?? []).map(({ source }) => venueKey(source));
  const all = [...new Set([...parts.map(({ key }) => key), ...past])];
  return (
    <>
      <div class="choice-head">
        <p class="note">
          {parts.length === 0 ? 'Nothing to choose from yet.' : nearText(perpsText())}
        </p>
        {!isAll && (
          <button type="button" class="plain" onClick={() => onChange([])}>
            All
          </button>
        )}
      </div>
      {parts.map((part) => {
        const isOn = isAll || chosen.includes(part.key);
        return (
          <div key={part.key} class="choice">
            <label>
              <input
                type="checkbox"
                checked={isOn}
                // Without any, there would be nothing to show.
                disabled={chosen.length === 1 && isOn}
                onChange={() => onChange(without(all, chosen, part.key))}
              />
              <span>{part.label}</span>
            </label>
            <button
              type="button"
              class="plain"
              aria-label={`Only ${part.label}`}
              onClick={() => onChange([part.key])}
            >
              only
            </button>
            <span class="figure">{usd(partUsd(part))}</span>
          </div>
        );
      })}
    </>
  );
}
