/** The page's keyboard shortcuts, shown by `?`, and the version of the server. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { isTyping } from '../state/keys.js';

const KEYS: readonly (readonly [keys: string, what: string])[] = [
  ['/', 'find a token'],
  ['Ctrl K', 'go to a token, a view or a time, or run a command'],
  ['?', 'show these keys'],
  ['Esc', 'close what is open, or leave a text box; otherwise back to now'],
  ['← → ↑ ↓', 'on the map: move'],
  ['Shift ← → ↑ ↓', 'on the map: move the cursor by a snapshot or a 1% step'],
  ['+ −', 'on the map: zoom the time'],
  ['Page Up, Page Down', 'on the map: zoom the price'],
  ['Enter', 'on the map: pin the time at the cursor'],
  ['Shift Enter', 'on the map: compare with the time at the cursor, or shift and click'],
  ['← → Home End', 'on the ladder: read its 1% steps; Esc ends it'],
  ['P', 'play what is in sight of the map, or pause'],
  [', .', 'step back or forward by a snapshot'],
  ['0, Home, End', 'on the map: the whole window, its start, its end'],
];

export function Shortcuts() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [version, setVersion] = useState<string | null>(null);
  const open = (): void => {
    dialog.current?.showModal();
    // Without it, the keys are there all the same.
    serverVersion().then(setVersion, () => undefined);
  };
  // The key works as soon as the button is there.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === '?' && !isTyping(event)) open();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  return (
    <>
      <button
        type="button"
        class="tool"
        aria-label="Keys of the keyboard"
        title="Keys of the keyboard (?)"
        onClick={open}
      >
        ?
      </button>
      <dialog ref={dialog} class="shortcuts" aria-labelledby="shortcuts-title">
        <h2 id="shortcuts-title">Keys</h2>
        <dl class="facts">
          {KEYS.flatMap(([keys, what]) => [
            <dt key={keys}>
              <kbd>{keys}</kbd>
            </dt>,
            <dd key={what}>{what}</dd>,
          ])}
        </dl>
        <footer>
          <button type="button" class="tool" onClick={() => dialog.current?.close()}>
            Close
          </button>
          <span class="note">{version !== null && `Fathom ${version}`}</span>
        </footer>
      </dialog>
    </>
  );
}

/** As the server states it to whoever checks its health; null if something before it leaves the header out. */
async function serverVersion(): Promise<string | null> {
  const { headers } = await fetch('/healthz');
  return headers.get('x-fathom-version');
}
