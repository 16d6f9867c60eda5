/** What the menus of types and venues list: each can be left out, or be the only one. It is loaded after the page. */
import { type LadderPart, nearText, partUsd, perpsText } from '../ladder/ladder.js';
import { usd } from '../state/format.js';
import { ALL, type Choice, flipped, isShown } from '../state/choices.js';

export interface ChoiceListProps {
  /** Of the snapshot shown, with their amounts. */
  parts: readonly LadderPart[];
  choice: Choice;
  onChange: (choice: Choice) => void;
}

export function ChoiceList({ parts, choice, onChange }: ChoiceListProps) {
  const isAll = choice.chosen.length + choice.leftOut.length === 0;
  const all = parts.map(({ key }) => key);
  const shown = all.filter((key) => isShown(choice, key));
  return (
    <>
      <div class="choice-head">
        <p class="note">
          {parts.length === 0 ? 'Nothing to choose from yet.' : nearText(perpsText())}
        </p>
        {!isAll && (
          <button type="button" class="plain" onClick={() => onChange(ALL)}>
            All
          </button>
        )}
      </div>
      {parts.map((part) => {
        const isOn = shown.includes(part.key);
        return (
          <div key={part.key} class="choice">
            <label>
              <input
                type="checkbox"
                checked={isOn}
                // Without any, there would be nothing to show.
                disabled={shown.length === 1 && isOn}
                onChange={() => onChange(flipped(all, choice, part.key))}
              />
              <span>{part.label}</span>
            </label>
            <button
              type="button"
              class="plain"
              aria-label={`Only ${part.label}`}
              onClick={() => onChange({ chosen: [part.key], leftOut: [] })}
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
