/** Keeps the scroll position of each page in the tab's history: a new page opens at its top, Back restores the position. */
import { view as viewValue } from './session.js';
import type { View } from './url.js';

/** The position is saved once scrolling has stopped for this long: browsers limit how often history may change. */
const REST_MS = 100;
/** Restoring ends once the page has not grown for this long. */
const GROWN_MS = 1000;
/** Inputs by which the reader takes over scrolling, which ends restoring. */
const INPUTS = ['wheel', 'touchmove', 'pointerdown', 'keydown'];

let returning = new AbortController();

/** Starts saving and restoring positions. Call it once the session has started. */
export function keepPlaces(): void {
  history.scrollRestoration = 'manual';
  let page = pageOf(viewValue.value);
  viewValue.follow((shown) => {
    // A new entry of the tab's history.
    if (history.state === null) {
      returning.abort();
      if (pageOf(shown) !== page) scrollTo(0, 0);
      note();
    }
    page = pageOf(shown);
  });
  window.addEventListener('hashchange', returnToPlace);
  let resting: ReturnType<typeof setTimeout> | undefined;
  window.addEventListener('scroll', () => {
    const { href } = location;
    clearTimeout(resting);
    resting = setTimeout(() => {
      if (returning.signal.aborted && location.href === href) note();
    }, REST_MS);
  });
  returnToPlace();
}

/** Identifies a view's page: views of one page share a scroll position. */
function pageOf(view: View): string {
  return view.name === 'token' ? `token ${view.address}` : view.name;
}

function note(): void {
  history.replaceState({ ...(history.state as object | null), y: scrollY }, '');
}

/** Restores the saved position once the page is long enough again, unless the reader scrolls first. */
function returnToPlace(): void {
  const { y = 0 } = (history.state ?? {}) as { y?: number };
  returning.abort();
  returning = new AbortController();
  const { signal } = returning;
  const end = (): void => returning.abort();
  let growing: ReturnType<typeof setTimeout> | undefined;
  const observer = new ResizeObserver(() => {
    clearTimeout(growing);
    scrollTo(0, y);
    if (Math.abs(scrollY - y) <= 1) growing = setTimeout(end, GROWN_MS);
  });
  observer.observe(document.body);
  signal.addEventListener('abort', () => {
    clearTimeout(growing);
    observer.disconnect();
  });
  for (const input of INPUTS) window.addEventListener(input, end, { signal, passive: true });
}
