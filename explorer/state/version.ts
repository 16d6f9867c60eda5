/** Whether the server has another version of the page, whose files have other names. */
import { Value } from './value.js';

/** True once a part of this page could not be loaded, and will never be. */
export const isOutdated = new Value(false);

/** Asks the server for its page whenever a part of this one could not be loaded. */
export function watchVersion(): void {
  addEventListener('vite:preloadError', () => {
    // If the server is away, nothing is known yet: the next attempt asks again.
    check().catch(() => undefined);
  });
}

async function check(): Promise<void> {
  const own = document.querySelector('script[src]')?.getAttribute('src') ?? '';
  const reply = await fetch('/', { cache: 'no-cache' });
  if (reply.ok && !(await reply.text()).includes(own)) isOutdated.set(true);
}
