/** The alerts that this browser keeps, for all its tabs. */
import { Value } from '../state/value.js';
import { bounded, type Kept, keptOf, NOTHING, textOf } from './kept-text.js';

const ITEM = 'fathom.alerts';

export const kept = new Value<Kept>(NOTHING);
/** Whether this browser refuses to keep them: they end with the tab. */
export const isUnkept = new Value(false);

/** Reads what this browser kept, and follows its other tabs. */
export function restoreAlerts(): void {
  kept.set(read() ?? kept.value);
  window.addEventListener('storage', ({ key }) => {
    if (key === ITEM) kept.set(read() ?? NOTHING);
  });
}

/** Changes what is kept, for all tabs of this browser. */
export function update(change: (now: Kept) => Kept): void {
  const next = bounded(change(isUnkept.value ? kept.value : (read() ?? kept.value)));
  try {
    localStorage.setItem(ITEM, textOf(next));
    isUnkept.set(false);
  } catch {
    isUnkept.set(true);
  }
  // Last: what follows it may update it again, from what is stored.
  kept.set(next);
}

/** Deletes everything that this browser keeps of alerts. */
export function forgetAlerts(): void {
  kept.set(NOTHING);
  localStorage.removeItem(ITEM);
}

/** @returns null if the item is missing, or not of this version */
function read(): Kept | null {
  try {
    return keptOf(localStorage.getItem(ITEM));
  } catch {
    return null;
  }
}
