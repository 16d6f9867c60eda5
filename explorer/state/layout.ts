/** Which panels this browser shows beside the map. No address says so: it is the reader's desk, not the view. */
import { Value } from './value.js';

const ITEM = 'fathom.layout';
const VERSION = 1;

/** The panels that can be hidden, in their order. */
export const PANELS = ['ladder', 'order', 'score', 'venues', 'markets', 'difference'] as const;
export type Panel = (typeof PANELS)[number];

/** The hidden ones. */
export const hiddenPanels = new Value<readonly Panel[]>([]);

/** Reads what this browser keeps, and follows its other tabs. */
export function restoreLayout(): void {
  hiddenPanels.set(read());
  window.addEventListener('storage', ({ key }) => {
    if (key === ITEM) hiddenPanels.set(read());
  });
}

export function hidePanels(hidden: readonly Panel[]): void {
  hiddenPanels.set(hidden);
  try {
    if (hidden.length === 0) localStorage.removeItem(ITEM);
    else localStorage.setItem(ITEM, JSON.stringify({ version: VERSION, hidden }));
  } catch {
    // A browser that keeps nothing shows the layout until the page is closed.
  }
}

/** Nothing hidden if the item is missing, of another version, or not as it should be. */
function read(): Panel[] {
  try {
    const found = JSON.parse(localStorage.getItem(ITEM) ?? 'null') as {
      version?: unknown;
      hidden?: unknown;
    } | null;
    const { hidden } = found?.version === VERSION ? found : { hidden: [] };
    return PANELS.filter((one) => Array.isArray(hidden) && hidden.includes(one));
  } catch {
    return [];
  }
}
