/** Whether the server has another version of the page, whose files have other names. */
import { Value } from './value.js';

/** True once a part of this page could not be loaded, and will never be. */
export const isOutdated = new Value(false);

/** An attempt that fails this long after the server answered began after the answer. */
const LEAST_SINCE_ANSWER_MS = 1_000;
/** The page loads itself again at most once in this time. */
const RELOAD_EVERY_MS = 60_000;
const RELOADED_ITEM = 'fathom.reloaded';

/** performance.now() of the first answer since the server was last away; Infinity: none since. */
let answeredMs = Infinity;

/** Asks the server for its page whenever a part of this one could not be loaded. */
export function watchVersion(): void {
  addEventListener('vite:preloadError', () => {
    const failedMs = performance.now();
    // If the server is away, nothing is known yet: the next attempt asks again.
    check(failedMs).catch(() => (answeredMs = Infinity));
  });
}

async function check(failedMs: number): Promise<void> {
  const own = document.querySelector('script[src]')?.getAttribute('src') ?? '';
  const reply = await fetch('/', { cache: 'no-cache' });
  if (!reply.ok) return;
  if (!(await reply.text()).includes(own)) isOutdated.set(true);
  // The server is there, but a browser may remember that a module failed, and then never asks for it again.
  else if (failedMs - answeredMs >= LEAST_SINCE_ANSWER_MS) reload();
  else answeredMs = Math.min(answeredMs, performance.now());
}

/** Loads the page again; its address holds its state. */
function reload(): void {
  const last = Number(sessionStorage.getItem(RELOADED_ITEM) ?? -Infinity);
  if (Date.now() - last < RELOAD_EVERY_MS) return;
  sessionStorage.setItem(RELOADED_ITEM, String(Date.now()));
  location.reload();
}
