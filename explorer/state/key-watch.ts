/** Notices at once, on pages that need no snapshots, that the key has ended, or that the server is silent. */
import { useEffect, useRef } from 'preact/hooks';
import { followToken, whileVisible } from './live.js';
import { isLive, key as keyValue } from './session.js';
import { useValue } from './use-value.js';

/** Follows the first token that the page names, only for heartbeats and the end of the stream. */
export function useKeyWatch(address: string | null): void {
  const first = useRef<string | null>(null);
  first.current ??= address;
  const live = useValue(isLive);
  const key = useValue(keyValue);
  const followed = first.current;
  useEffect(
    () =>
      live && followed !== null
        ? whileVisible((signal) => followToken(followed, signal, 'server'))
        : undefined,
    [live, key, followed],
  );
}
