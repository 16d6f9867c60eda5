/** A field for the pinned time. It is loaded after the map. */
import { useEffect, useState } from 'preact/hooks';
import { useNowS } from '../state/load.js';
import { spokenTime } from '../state/spoken-time.js';
import { useValue } from '../state/use-value.js';
import { fieldTime, offsetS, zone } from '../state/zone.js';

/** Shows the pinned time, and takes the times that the command palette takes. */
export function TimeField({ t, onPin }: { t: number | null; onPin: (t: number | null) => void }) {
  useValue(zone);
  const nowS = useNowS();
  /** Null: the pinned time. */
  const [typed, setTyped] = useState<string | null>(null);
  const [isOdd, setOdd] = useState(false);
  const type = (text: string | null): void => {
    setTyped(text);
    setOdd(false);
  };
  useEffect(() => type(null), [t]);
  const enter = (text: string): void => {
    const isNow = ['', 'now'].includes(text.trim().toLowerCase());
    const at = isNow ? null : spokenTime(text, nowS, offsetS);
    if (at === null && !isNow) return setOdd(true);
    type(null);
    onPin(at === null ? null : Math.floor(at));
  };
  return (
    <span class="heatmap-time">
      <label>
        <span>Time</span>
        <input
          type="text"
          placeholder="yesterday 12:00"
          autocomplete="off"
          spellcheck={false}
          aria-invalid={isOdd}
          value={typed ?? (t === null ? '' : fieldTime(t))}
          onInput={(event) => type(event.currentTarget.value)}
          onChange={(event) => enter(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape') type(null);
          }}
        />
      </label>
      {t !== null && (
        <button type="button" onClick={() => onPin(null)}>
          Now
        </button>
      )}
      <span class="note" role="status">
        {isOdd && 'Expected a time until now such as yesterday 12:00, 2026-11-20 9:30 or 3 h ago'}
      </span>
    </span>
  );
}
