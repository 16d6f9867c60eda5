/** Tells a page without a token of its own at once that its key has ended. */
import { useEffect, useRef } from 'preact/hooks';
import { FathomError } from '../../client/index.js';
import { whileVisible } from './live.js';
import { currentClient, isLive, key as keyValue, tryAgain } from './session.js';
import { useValue } from './use-value.js';

/** Follows a token that the page shows, the first that it names, only to be told. */
export function useKeyWatch(address: string | null): void {
  const first = useRef<string | null>(null);
  first.current ??= address;
  const live = useValue(isLive);
  const key = useValue(keyValue);
  const followed = first.current;
  useEffect(
    () =>
      live && followed !== null ? whileVisible((signal) => watch(followed, signal)) : undefined,
    [live, key, followed],
  );
}

async function watch(address: string, signal: AbortSignal): Promise<void> {
  try {
    const messages = currentClient()?.follow(address, { group: 'all' }, { signal }) ?? [];
    for await (const message of messages) void message;
  } catch (error) {
    // The next request says why.
    if (!signal.aborted && error instanceof FathomError && error.status === 401) tryAgain();
  }
}
