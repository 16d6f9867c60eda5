/** Code that the page loads when needed. */
import { useEffect, useState } from 'preact/hooks';

/** Null until the code is loaded, or if it does not load. */
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
