/** State of the tab: key, client, limits, trouble, view and theme. */
import { addressClient, type AddressClient } from '../../client/address-client.js';
import { Http } from '../../client/http.js';
import { type FathomError } from '../../client/index.js';
import type { Theme } from '../heatmap/palette.js';
import type { Ladder } from '../ladder/ladder.js';
import { asOfS } from './clock.js';
import { restoreFavourites } from './favourites.js';
import { restoreLayout } from './layout.js';
import { hashOf, keyOf, type TokenView, type View, viewOf } from './url.js';
import { Value } from './value.js';
import { type Zone, zone } from './zone.js';

const KEY_ITEM = 'fathom.key';
const THEME_ITEM = 'fathom.theme';
const ZONE_ITEM = 'fathom.zone';
/** Shorter waits end before anyone could read about them. */
const MIN_SHOWN_WAIT_MS = 1_200;
/** The API's number for 'unlimited'. */
const UNLIMITED = 2_147_483_647;

/** For keys with fewer requests per minute than this, the page saves requests. */
const SMALL_RATE = 60;
/** Share of such a key's requests reserved for what the user requests. */
const RESERVED_SHARE = 0.5;

/** What prevents the page from getting its data. */
export type Trouble =
  | { kind: 'key-missing' }
  | {
      kind: 'key-refused';
      message: string;
      /** Whether this browser remembered the key. */
      wasKept: boolean;
    }
  | { kind: 'limited' | 'busy' | 'connection'; untilMs: number }
  | { kind: 'offline' };

interface Limits {
  tier: string;
  /** Requests per minute; null: unlimited. */
  rate: { limit: number; remaining: number; atMs: number } | null;
  /** Requests per month; null: unlimited. */
  quota: { limit: number; used: number; resetsAtS: number } | null;
}

export const key = new Value<string | null>(null);
export const trouble = new Value<Trouble | null>(null);
export const limits = new Value<Limits | null>(null);
export const view = new Value<View>(viewOf(''));
/** The fragment with which the page was opened, or to which the last link or choice led. */
export const arrival = new Value({ hash: '' });
export const isLive = new Value(true);
export const theme = new Value<Theme>('dark');
/** The view of a token shown last in this tab; null if none yet. */
export const lastToken = new Value<TokenView | null>(null);
/** The types and venues of that token, by the ladder shown last; null if not known. */
export const shownChoices = new Value<Ladder['choices'] | null>(null);
/** Counts retries: a new number makes views try again at once. */
export const attempt = new Value(0);

/** Whether the key was given since the page was opened, and no reply has accepted it yet. */
let isUntried = false;
/** The key that the server rejected last: an answer about an earlier key may be late. */
let refusedKey: string | null = null;

let shared: { key: string; client: AddressClient } | null = null;

/** The client for the current key; null without a key. */
export function currentClient(): AddressClient | null {
  const current = key.value;
  if (current === null) return null;
  if (shared?.key !== current) {
    const http = new Http({
      url: location.origin,
      key: current,
      onReply: (headers, status) => {
        if (status === 401) refusedKey = current;
        else if (status === 200 && current === key.value) isUntried = false;
        noteReply(headers, status);
      },
      onWait: ({ kind, waitMs }) => {
        if (waitMs < MIN_SHOWN_WAIT_MS) return;
        if (kind === 'connection' && !navigator.onLine) trouble.set({ kind: 'offline' });
        else trouble.set({ kind, untilMs: performance.now() + waitMs });
      },
    });
    shared = { key: current, client: addressClient(http) };
  }
  return shared.client;
}

/** Restores key, theme and view, and follows the address bar and the network. */
export function startSession(): void {
  takeKeyFromAddress();
  if (key.value === null) {
    key.set(sessionStorage.getItem(KEY_ITEM) ?? localStorage.getItem(KEY_ITEM));
  }
  asOfS.set(asOfByServer());
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
  zone.set(localStorage.getItem(ZONE_ITEM) === 'local' ? 'local' : 'utc');
  restoreFavourites();
  restoreLayout();
  view.follow((shown) => {
    if (shown.name === 'token' && shown.address !== null) lastToken.set(shown);
  });
  const arrive = (): void => {
    takeKeyFromAddress();
    arrival.set({ hash: location.hash });
    view.set(viewOf(location.hash));
  };
  // A key that another tab remembers is this one's, too, if it has none.
  window.addEventListener('storage', ({ key: item, newValue }) => {
    const needsKey = trouble.value?.kind.startsWith('key-') === true;
    if (item === KEY_ITEM && newValue !== null && needsKey) setKey(newValue);
  });
  window.addEventListener('hashchange', arrive);
  arrive();
  window.addEventListener('offline', () => trouble.set({ kind: 'offline' }));
  window.addEventListener('online', tryAgain);
}

export function chooseTheme(chosen: Theme): void {
  localStorage.setItem(THEME_ITEM, chosen);
  theme.set(chosen);
  document.documentElement.dataset.theme = chosen;
}

/** Shows times in UTC or in the browser's time zone, and remembers the choice in this browser. */
export function chooseZone(chosen: Zone): void {
  localStorage.setItem(ZONE_ITEM, chosen);
  zone.set(chosen);
}

/** @param isKept whether other and later tabs of this browser get the key too */
export function setKey(given: string, isKept = false): void {
  sessionStorage.setItem(KEY_ITEM, given);
  if (isKept) localStorage.setItem(KEY_ITEM, given);
  limits.set(null);
  trouble.set(null);
  shared = null;
  isUntried = true;
  key.set(given);
  tryAgain();
}

export function forgetKey(): void {
  sessionStorage.removeItem(KEY_ITEM);
  localStorage.removeItem(KEY_ITEM);
  limits.set(null);
  shared = null;
  key.set(null);
  trouble.set({ kind: 'key-missing' });
}

/** Shows a view. @param how `replace` adds no entry to the tab's history */
export function show(next: View, how: 'push' | 'replace' = 'push'): void {
  const hash = hashOf(next);
  if (hash === location.hash) return;
  if (how === 'push') {
    history.pushState(null, '', hash);
    arrival.set({ hash });
  } else history.replaceState(history.state, '', hash);
  view.set(next);
}

export function tryAgain(): void {
  if (trouble.value !== null && key.value !== null) trouble.set(null);
  attempt.set(attempt.value + 1);
}

export function hasSmallRate(): boolean {
  return (limits.value?.rate?.limit ?? Infinity) < SMALL_RATE;
}

/** Whether the key has requests to spare for data that the user did not ask for. */
export function canSpare(): boolean {
  const rate = limits.value?.rate ?? null;
  if (rate === null || !hasSmallRate()) return true;
  const returned = ((performance.now() - rate.atMs) / 60_000) * rate.limit;
  return rate.remaining + returned >= RESERVED_SHARE * rate.limit + 1;
}

const UNKNOWN_KEY =
  'The server does not know this key: it is mistyped, was revoked, or is of another server.';

/** Shows the trouble that a failed request means for the whole page. */
export function noteFailure(error: FathomError): void {
  if (error.status === 401) {
    // Of another key, the server names the header that the page sends, which nobody here has typed.
    refuseKey(error.code === 'key_expired' ? messageOf(error) : UNKNOWN_KEY);
  } else if (error.status === null && !navigator.onLine) trouble.set({ kind: 'offline' });
}

/**
 * Forgets a key that the server rejects, in this browser too: it would fail in other tabs as well. If the browser
 * remembers another one by now, the page goes on with that, unless the rejected key was only just given.
 */
function refuseKey(message: string): void {
  if (refusedKey !== key.value) return;
  const last = trouble.value;
  const isRemembered = localStorage.getItem(KEY_ITEM) === key.value;
  const wasKept = isRemembered || (last?.kind === 'key-refused' && last.wasKept);
  sessionStorage.removeItem(KEY_ITEM);
  if (isRemembered) localStorage.removeItem(KEY_ITEM);
  const other = localStorage.getItem(KEY_ITEM);
  if (other !== null && !isUntried) return setKey(other);
  trouble.set({ kind: 'key-refused', message, wasKept });
}

/** Whether the trouble is that no server answers. */
export function isAway(current: Trouble | null): boolean {
  return current?.kind === 'connection' || current?.kind === 'offline';
}

/** Whether the same request may succeed later: the server was unreachable or failed. */
export function isTransient({ status }: FathomError): boolean {
  return status === null || status >= 500;
}

/** The server's message. */
export function messageOf(error: FathomError): string {
  return typeof error.cause === 'string' ? error.cause : error.message;
}

/** The frozen clock, from the reply that delivered the page. */
function asOfByServer(): number | null {
  const [loaded] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  return loaded?.serverTiming?.find(({ name }) => name === 'as-of')?.duration ?? null;
}

function takeKeyFromAddress(): void {
  const given = keyOf(location.hash);
  if (given === null) return;
  history.replaceState(null, '', '#/');
  setKey(given.key, given.isKept);
}

function noteReply(headers: Headers, status: number): void {
  const current = trouble.value;
  if (current?.kind === 'offline') trouble.set(null);
  // Another request may succeed while the failed one still waits.
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
