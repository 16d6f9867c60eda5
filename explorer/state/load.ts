/** Loads documents of the API for views, and reloads them while the page is visible. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { AddressClient } from '../../client/address-client.js';
import { FathomError } from '../../client/index.js';
import {
  attempt,
  currentClient,
  hasSmallRate,
  isLive,
  key as keyValue,
  noteFailure,
} from './session.js';
import { currentS } from './clock.js';
import { changed } from './live.js';
import { pause } from './pause.js';
import { useValue } from './use-value.js';

interface Loaded<T> {
  /** The newest document; null before the first. It stays while the next one loads or fails to load. */
  document: T | null;
  error: FathomError | null;
  isLoading: boolean;
}

const RELOAD_MS = 15_000;
const SMALL_RATE_RELOAD_MS = 60_000;
const LEAST_RELOAD_MS = 1_000;

/** Time between two loads of what the page shows. */
export function reloadMs(): number {
  return hasSmallRate() ? SMALL_RATE_RELOAD_MS : RELOAD_MS;
}

/** The least time between two loads of data that changes with each snapshot. */
export function leastReloadMs(): number {
  return hasSmallRate() ? SMALL_RATE_RELOAD_MS : LEAST_RELOAD_MS;
}

/**
 * When a document is reloaded while the page is visible and live: never, every reloadMs(), or when the token in sight
 * changes.
 */
type Reloads = 'never' | 'by time' | 'by change';

/**
 * Loads a document, and again after every change of its name or of the key.
 *
 * @param name identifies the document; null loads nothing
 * @param ask gets the last document of this name, so that it can ask for what is new alone; null: the first
 */
export function useDocument<T>(
  name: string | null,
  ask: (client: AddressClient, signal: AbortSignal, last: T | null) => Promise<T>,
  reloads: Reloads = 'by time',
): Loaded<T> {
  const [state, setState] = useState<Loaded<T> & { name: string | null }>({
    name: null,
    document: null,
    error: null,
    isLoading: true,
  });
  const latest = useRef(ask);
  latest.current = ask;
  const key = useValue(keyValue);
  const tries = useValue(attempt);
  useEffect(() => {
    const client = currentClient();
    if (name === null || client === null) return;
    const ended = new AbortController();
    let last = state.name === name ? state.document : null;
    setState((was) => {
      const document = was.name === name ? was.document : null;
      return { name, document, error: null, isLoading: true };
    });
    const load = async (): Promise<void> => {
      try {
        const document = await latest.current(client, ended.signal, last);
        if (ended.signal.aborted) return;
        last = document;
        setState({ name, document, error: null, isLoading: false });
      } catch (error) {
        if (ended.signal.aborted) return;
        const failure =
          error instanceof FathomError ? error : new FathomError(String(error), { status: null });
        noteFailure(failure);
        setState((was) => ({ ...was, error: failure, isLoading: false }));
      }
    };
    void load().then(() => {
      if (reloads !== 'never') reload(load, reloads, ended.signal).catch(() => undefined);
    });
    return () => ended.abort();
  }, [name, key, tries, reloads]);
  return state.name === name ? state : { document: null, error: null, isLoading: true };
}

/** Reloads while the page is visible. @throws the signal's reason once it is aborted */
async function reload(
  load: () => Promise<void>,
  reloads: Reloads,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    if (reloads === 'by change') await changed(leastReloadMs(), reloadMs(), signal);
    else await pause(reloadMs(), signal);
    if (isLive.value && document.visibilityState === 'visible' && navigator.onLine) await load();
  }
}

/** The time by the server's clock in epoch seconds, updated every second unless that clock is frozen. */
export function useNowS(): number {
  const [now, setNow] = useState(currentS());
  useEffect(() => {
    const timer = setInterval(() => setNow(currentS()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** The value; while it is null, the last value with the same name. */
export function useLast<T>(value: T | null, name: string): T | null {
  const last = useRef<{ name: string; value: T } | null>(null);
  if (value !== null) last.current = { name, value };
  return last.current?.name === name ? last.current.value : null;
}
