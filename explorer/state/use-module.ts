/** Code that the page loads when needed. */
import { useEffect, useState } from 'preact/hooks';
import { pause } from './pause.js';
import { attempt } from './session.js';
import { useValue } from './use-value.js';

/** The pause after code could not be loaded, because the server was away. */
const RETRY_MS = 2_000;

interface Part<T> {
  /** Null until the code is loaded. */
  module: T | null;
  /** Whether the last attempt failed; the next one follows, at once if the page retries everything. */
  hasFailed: boolean;
}

export function usePart<T>(load: () => Promise<T>): Part<T> {
  const [part, setPart] = useState<Part<T>>({ module: null, hasFailed: false });
  const tries = useValue(attempt);
  const isLoaded = part.module !== null;
  useEffect(() => {
    if (isLoaded) return;
    const left = new AbortController();
    const loadUntilThere = async (): Promise<void> => {
      for (;;) {
        try {
          const module = await load();
          setPart({ module, hasFailed: false });
          return;
        } catch {
          left.signal.throwIfAborted();
          setPart({ module: null, hasFailed: true });
          await pause(RETRY_MS, left.signal);
        }
      }
    };
    // Rejects only if the component has gone, or begins another attempt.
    loadUntilThere().catch(() => undefined);
    return () => left.abort();
  }, [tries, isLoaded]);
  return part;
}

/** Null until the code is loaded. */
export function useModule<T>(load: () => Promise<T>): T | null {
  return usePart(load).module;
}
