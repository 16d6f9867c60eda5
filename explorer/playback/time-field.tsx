/** A field for the pinned time. It is loaded after the map. */
import { useLayoutEffect, useState } from 'preact/hooks';
import { useNowS } from '../state/load.js';
import { REACH_S, TOO_OLD } from '../state/requests.js';
import { EXPECTED_TIME, spokenTime } from '../state/spoken-time.js';
import { useValue } from '../state/use-value.js';
import { fieldTime, offsetS, zone } from '../state/zone.js';

/** Shows the pinned time, and takes the times that the command palette takes. */
export function TimeField({ t, onPin }: { t: number | null; onPin: (t: number | null) => void }) {
  useValue(zone);
  const nowS = useNowS();
  /** Null: the pinned time. */
  const [typed, setTyped] = useState<string | null>(null);
  /** What is wrong with the typed text; null: nothing. */
  const [fault, setFault] = useState<string | null>(null);
  const shown = t === null ? '' : fieldTime(t);
  const type = (text: string | null): void => {
    setTyped(text);
    setFault(null);
  };
  // A layout effect runs in the same frame as the new time. A later one would discard what the user types in between.
  useLayoutEffect(() => type(null), [t]);
  const enter = (text: string): void => {
    if (text === shown) return type(null);
    const isNow = ['', 'now'].includes(text.trim().toLowerCase());
    const at = isNow ? null : spokenTime(text, nowS, offsetS);
    if (at === null && !isNow) return setFault(EXPECTED_TIME);
    if (at !== null && at < nowS - REACH_S) return setFault(TOO_OLD);
    type(null);
    onPin(at === null ? null : Math.floor(at));
  };
  return (
    <span class="heatmap-time">
      <label>
        <span class="hidden">Time</span>
        <input
          type="text"
          placeholder="yesterday 12:00"
          autocomplete="off"
          spellcheck={false}
          aria-invalid={fault !== null}
          value={typed ?? shown}
          onInput={(event) => type(event.currentTarget.value)}
          onChange={(event) => enter(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Escape') return;
            // Reset the field now: it is about to lose the focus, which would enter the typed text.
            event.currentTarget.value = shown;
            type(null);
          }}
        />
      </label>
      {t !== null && (
        <button type="button" class="plain" onClick={() => onPin(null)}>
          Now
        </button>
      )}
      <span class="fault" role="status">
        {fault}
      </span>
    </span>
  );
}
