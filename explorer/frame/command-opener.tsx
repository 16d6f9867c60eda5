/** Opens the command palette on ctrl+K: its text box at once, its list as soon as the list's code is loaded. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { usePart } from '../state/use-module.js';
import type { Entered } from './commands.js';

const loadList = async () => (await import('./commands.js')).Commands;

export function CommandOpener() {
  const [isOpen, setIsOpen] = useState(false);
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setIsOpen(true);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  useEffect(() => {
    if ('requestIdleCallback' in window)
      requestIdleCallback(() => void loadList().catch(() => undefined));
  }, []);
  return isOpen ? <Palette onClose={() => setIsOpen(false)} /> : null;
}

function Palette({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const [count, setCount] = useState(0);
  const [entered, setEntered] = useState<Entered | null>(null);
  const { module: List, hasFailed } = usePart(loadList);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) setChosen((chosen + step + count) % Math.max(1, count));
    else if (event.key === 'Enter') setEntered(count > 0 ? 'row' : 'text');
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      class="commands"
      aria-label="Commands"
      onClose={onClose}
      onPointerDown={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
    >
      <input
        type="text"
        role="combobox"
        aria-label="A token, a view, a time or an action"
        aria-expanded={List !== null}
        aria-controls="commands-list"
        aria-autocomplete="list"
        aria-activedescendant={count > 0 ? `command-${chosen}` : undefined}
        placeholder="A token, a view, 'yesterday 12:00', an action"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setChosen(0);
          setEntered(null);
        }}
        onKeyDown={onKeyDown}
      />
      {List !== null ? (
        <List {...{ text, chosen, entered, onClose }} onChoose={setChosen} onCount={setCount} />
      ) : (
        <p class="note" role="status">
          {hasFailed ? 'The list could not be loaded; the page keeps trying' : 'Loading the list'}
        </p>
      )}
    </dialog>
  );
}
