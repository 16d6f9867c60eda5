/** Code that the page loads when needed. */
import { useEffect, useState } from 'preact/hooks';
import { pause } from './pause.js';

/** The pause after code could not be loaded, because the server was away. */
const RETRY_MS = 2_000;

/** Null until the code is loaded. */
export function useModule<T>(load: () => Promise<T>): T | null {
  const [loaded, setLoaded] = useState<T | null>(null);
  useEffect(() => {
    const left = new AbortController();
    const loadUntilThere = async (): Promise<void> => {
      for (;;) {
        try {
          const module = await load();
          setLoaded(() => module);
          return;
        } catch {
          await pause(RETRY_MS, left.signal);
        }
      }
    };
    // Rejects only if the component has gone.
    loadUntilThere().catch(() => undefined);
    return () => left.abort();
  }, []);
  return loaded;
}
