/** Documents of the API for views: loaded, renewed while they are looked at, tried again. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { FathomError, type FathomClient } from '../../client/index.js';
import {
  attempt,
  currentClient,
  hasSmallRate,
  isLive,
  key as keyValue,
  noteFailure,
} from './session.js';
import { useValue } from './value.js';

export interface Loaded<T> {
  /** The newest document; null before the first. It stays while a newer one is loaded, or fails. */
  document: T | null;
  error: FathomError | null;
  isLoading: boolean;
}

const RENEW_MS = 15_000;
const RENEW_SPARINGLY_MS = 60_000;

/** How often what is on the page is renewed. */
export function renewalMs(): number {
  return hasSmallRate() ? RENEW_SPARINGLY_MS : RENEW_MS;
}

/**
 * @param name of the document: another name is another document; null: nothing is loaded
 * @param renews whether it is loaded again every so often, while the page is visible and live
 */
export function useDocument<T>(
  name: string | null,
  ask: (client: FathomClient, signal: AbortSignal) => Promise<T>,
  renews = true,
): Loaded<T> {
  const [state, setState] = useState<Loaded<T> & { name: string | null }>({
    ...{ name: null, document: null, error: null, isLoading: true },
  });
  const latest = useRef(ask);
  latest.current = ask;
  const key = useValue(keyValue);
  const tries = useValue(attempt);
  useEffect(() => {
    const client = currentClient();
    if (name === null || client === null) return;
    const ended = new AbortController();
    setState((was) => {
      const document = was.name === name ? was.document : null;
      return { name, document, error: null, isLoading: true };
    });
    const load = async (): Promise<void> => {
      try {
        const document = await latest.current(client, ended.signal);
        if (!ended.signal.aborted) setState({ name, document, error: null, isLoading: false });
      } catch (error) {
        if (ended.signal.aborted) return;
        const failure =
          error instanceof FathomError ? error : new FathomError(String(error), { status: null });
        noteFailure(failure);
        setState((was) => ({ ...was, error: failure, isLoading: false }));
      }
    };
    void load().then(() => {
      if (renews) void renewing(load, ended.signal);
    });
    return () => ended.abort();
  }, [name, key, tries, renews]);
  return state.name === name ? state : { document: null, error: null, isLoading: true };
}

/** Loads again and again until the signal comes; not while nobody looks. */
async function renewing(load: () => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(renewalMs(), signal);
    if (signal.aborted) return;
    if (isLive.value && document.visibilityState === 'visible' && navigator.onLine) await load();
  }
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** The time, renewed every second. */
export function useNowS(): number {
  const [now, setNow] = useState(Date.now() / 1000);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now() / 1000), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** The value, or the last one there was for the same name, while there is none. */
export function useLast<T>(value: T | null, name: string): T | null {
  const last = useRef<{ name: string; value: T } | null>(null);
  if (value !== null) last.current = { name, value };
  return last.current?.name === name ? last.current.value : null;
}
