/** Code that the page loads once it needs it. */
import { useEffect, useState } from 'preact/hooks';

/** Null until it is there, and where it does not load. */
export function useModule<T>(load: () => Promise<T>): T | null {
  const [loaded, setLoaded] = useState<T | null>(null);
  useEffect(() => {
    load().then(
      (module) => setLoaded(() => module),
      () => undefined,
    );
  }, []);
  return loaded;
}
