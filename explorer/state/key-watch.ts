/** Notices at once, on pages that follow no token, that the key has ended. */
import { useEffect, useRef } from 'preact/hooks';
import { retryIfRefused, whileVisible } from './live.js';
import { currentClient, isLive, key as keyValue } from './session.js';
import { useValue } from './use-value.js';

/** Follows the first token that the page names, only for the end of the stream. */
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
    retryIfRefused(error, signal);
  }
}
