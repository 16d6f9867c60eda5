/** The tab's key, its client and what the server says of it; theme and place. */
import { fathomClient, type FathomClient, type FathomError } from '../../client/index.js';
import { hashOf, keyOf, type View, viewOf } from './url.js';
import { Value } from './value.js';

const KEY_ITEM = 'fathom.key';
const THEME_ITEM = 'fathom.theme';
/** Shorter waits are over before anybody has read of them. */
const LEAST_TOLD_WAIT_MS = 1_200;
/** What the API sends for 'unlimited'. */
const UNLIMITED = 2_147_483_647;

/** Of keys with fewer requests a minute the page leaves most to others. */
const SMALL_RATE = 60;
/** What such a key keeps for what is asked for by hand, as a share of a minute's requests. */
const KEPT_SHARE = 0.5;

/** What stands between the page and its data; null: nothing. */
export type Trouble =
  | { kind: 'key-missing' }
  | { kind: 'key-refused'; message: string }
  | { kind: 'limited' | 'busy' | 'connection'; untilMs: number }
  | { kind: 'offline' };

export interface Limits {
  tier: string;
  /** Requests a minute; null: unlimited. */
  rate: { limit: number; remaining: number; atMs: number } | null;
  /** Requests a month; null: unlimited. */
  quota: { limit: number; used: number; resetsAtS: number } | null;
}

export const key = new Value<string | null>(null);
export const trouble = new Value<Trouble | null>(null);
export const limits = new Value<Limits | null>(null);
export const view = new Value<View>(viewOf(''));
export const isLive = new Value(true);
export const theme = new Value<'light' | 'dark'>('dark');
/** Raised when what failed should be tried again now. */
export const attempt = new Value(0);

let shared: { key: string; client: FathomClient } | null = null;

/** The client of the key; null without one. */
export function currentClient(): FathomClient | null {
  const current = key.value;
  if (current === null) return null;
  if (shared?.key !== current) {
    const client = fathomClient({
      url: location.origin,
      key: current,
      onReply: noteReply,
      onWait: ({ kind, waitMs }) => {
        if (waitMs < LEAST_TOLD_WAIT_MS) return;
        if (kind === 'connection' && !navigator.onLine) trouble.set({ kind: 'offline' });
        else trouble.set({ kind, untilMs: performance.now() + waitMs });
      },
    });
    shared = { key: current, client };
  }
  return shared.client;
}

/** Reads what the tab keeps, and follows the address bar and the network. */
export function startSession(): void {
  takeKeyFromAddress();
  if (key.value === null) key.set(sessionStorage.getItem(KEY_ITEM));
  if (key.value === null) trouble.set({ kind: 'key-missing' });
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const showTheme = (): void => {
    const chosen = localStorage.getItem(THEME_ITEM);
    const isDark = chosen === null ? dark.matches : chosen === 'dark';
    theme.set(isDark ? 'dark' : 'light');
    document.documentElement.dataset.theme = theme.value;
  };
  showTheme();
  dark.addEventListener('change', showTheme);
  window.addEventListener('hashchange', () => {
    takeKeyFromAddress();
    view.set(viewOf(location.hash));
  });
  view.set(viewOf(location.hash));
  window.addEventListener('offline', () => trouble.set({ kind: 'offline' }));
  window.addEventListener('online', tryAgain);
}

export function chooseTheme(chosen: 'light' | 'dark'): void {
  localStorage.setItem(THEME_ITEM, chosen);
  theme.set(chosen);
  document.documentElement.dataset.theme = chosen;
}

export function useKey(given: string): void {
  sessionStorage.setItem(KEY_ITEM, given);
  limits.set(null);
  trouble.set(null);
  shared = null;
  key.set(given);
  tryAgain();
}

export function forgetKey(): void {
  sessionStorage.removeItem(KEY_ITEM);
  limits.set(null);
  shared = null;
  key.set(null);
  trouble.set({ kind: 'key-missing' });
}

/** Goes to a view. @param how `replace` leaves no step in the tab's history */
export function show(next: View, how: 'push' | 'replace' = 'push'): void {
  const hash = hashOf(next);
  if (hash === location.hash) return;
  if (how === 'push') history.pushState(null, '', hash);
  else history.replaceState(null, '', hash);
  view.set(next);
}

export function tryAgain(): void {
  if (trouble.value !== null && key.value !== null) trouble.set(null);
  attempt.set(attempt.value + 1);
}

export function hasSmallRate(): boolean {
  return (limits.value?.rate?.limit ?? Infinity) < SMALL_RATE;
}

/** Whether the key has requests left for what nobody asked for by hand. */
export function canSpare(): boolean {
  const rate = limits.value?.rate ?? null;
  if (rate === null || !hasSmallRate()) return true;
  const returned = ((performance.now() - rate.atMs) / 60_000) * rate.limit;
  return rate.remaining + returned >= KEPT_SHARE * rate.limit + 1;
}

/** What a failed request means for the page as a whole. */
export function noteFailure(error: FathomError): void {
  if (error.status === 401) {
    trouble.set({ kind: 'key-refused', message: messageOf(error) });
  } else if (error.status === null && !navigator.onLine) trouble.set({ kind: 'offline' });
}

/** Whether the same request may work later: the server is away, or has a fault. */
export function isPassing({ status }: FathomError): boolean {
  return status === null || status >= 500;
}

/** The server's own words. */
export function messageOf(error: FathomError): string {
  return typeof error.cause === 'string' ? error.cause : error.message;
}

function takeKeyFromAddress(): void {
  const given = keyOf(location.hash);
  if (given === null) return;
  history.replaceState(null, '', '#/');
  useKey(given);
}

function noteReply(headers: Headers, status: number): void {
  const current = trouble.value;
  if (current?.kind === 'offline') trouble.set(null);
  // While one request waits, others may pass.
  const isOver = current !== null && 'untilMs' in current && performance.now() >= current.untilMs;
  if (isOver && status < 400) trouble.set(null);
  const tier = headers.get('x-api-tier');
  if (tier === null) return;
  const number = (name: string): number => Number(headers.get(name) ?? UNLIMITED);
  const [rate, quota] = [number('x-ratelimit-limit'), number('x-quota-limit')];
  limits.set({
    tier,
    rate:
      rate === UNLIMITED
        ? null
        : { limit: rate, remaining: number('x-ratelimit-remaining'), atMs: performance.now() },
    quota:
      quota === UNLIMITED
        ? null
        : { limit: quota, used: number('x-quota-used'), resetsAtS: number('x-quota-reset') },
  });
}
