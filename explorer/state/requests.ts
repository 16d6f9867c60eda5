/** The API requests behind a view, and their curl commands. */
import type { MarketType } from '../../client/index.js';
import { PRESET_S, type TokenView, type Window } from './url.js';

/** The API answers about the last 365 days. */
export const MAX_HISTORY_S = 365 * 86_400;
/** A little less than that, because some time passes until the server gets the request. */
export const REACH_S = MAX_HISTORY_S - 3600;
/** Shown in place of an earlier time. */
export const TOO_OLD = 'The API answers about the last 365 days';

export interface ApiRequest {
  method: 'GET' | 'POST';
  /** Relative to `/api/v1`. */
  path: string;
  query: Readonly<Record<string, string>>;
  /** Only with POST. */
  body?: unknown;
}

/** A command that takes the key from the shell variable `$FATHOM_KEY`, so that it is safe to share. */
export function curlText(origin: string, { method, path, query, body }: ApiRequest): string {
  const search = new URLSearchParams(query).toString().replaceAll('%2C', ',');
  const url = `${origin}/api/v1${path}${search === '' ? '' : `?${search}`}`;
  const lines = [`curl --compressed -H "x-api-key: $FATHOM_KEY"`];
  if (method === 'POST') {
    lines.push(`  -H 'content-type: application/json'`);
    lines.push(`  -d ${quoted(JSON.stringify(body))}`);
  }
  lines.push(`  ${quoted(url)}`);
  return lines.join(' \\\n');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * The window as `from` and `to` of `/replay/:address`.
 *
 * @param firstS epoch seconds of the token's first snapshot; null if unknown
 */
export function windowTimes(window: Window, firstS: number | null): { from: string; to: string } {
  if (typeof window === 'object') return { from: String(window.fromS), to: String(window.toS) };
  if (window === 'all') return { from: firstS === null ? '-365d' : String(firstS), to: 'now' };
  return { from: `-${window}`, to: 'now' };
}

/** The part of the window that is in sight, as `from` and `to`. */
export function timesInSight(
  { window, zoom }: Pick<TokenView, 'window' | 'zoom'>,
  firstS: number | null,
): { from: string; to: string } {
  if (zoom === null) return windowTimes(window, firstS);
  const { fromS, toS } = zoom;
  return toS === null ? { from: `${fromS}s`, to: 'now' } : { from: String(fromS), to: String(toS) };
}

/** The same in epoch seconds. */
export function spanInSight(
  { window, zoom }: Pick<TokenView, 'window' | 'zoom'>,
  firstS: number | null,
  nowS: number,
): { fromS: number; toS: number } {
  if (zoom !== null) {
    const { fromS, toS } = zoom;
    return toS === null ? { fromS: nowS + fromS, toS: nowS } : { fromS, toS };
  }
  if (typeof window === 'object') return window;
  const beginS = window === 'all' ? firstS : nowS - PRESET_S[window];
  return { fromS: beginS ?? nowS - MAX_HISTORY_S, toS: nowS };
}

/** Without a list, all types or venues. */
export type MarketFilter = {
  types?: MarketType[];
  venues?: string[];
  exclude_venues?: string[];
};

/** The view's filter as parameters of `/replay/:address`. */
export function filterOf({ types, venues, excludedVenues }: TokenView): MarketFilter {
  return {
    ...(types.length > 0 ? { types: [...types] } : {}),
    ...(venues.length > 0 ? { venues: [...venues] } : {}),
    ...(excludedVenues.length > 0 ? { exclude_venues: [...excludedVenues] } : {}),
  };
}

/** The request for the history that is in sight. */
export function replayRequest(view: TokenView, firstS: number | null): ApiRequest {
  const { address, group, band } = view;
  const filter = Object.entries(filterOf(view)).map(([name, list]) => [name, list.join(',')]);
  return {
    method: 'GET',
    path: `/replay/${address}`,
    query: {
      ...timesInSight(view, firstS),
      group,
      ...(Object.fromEntries(filter) as Record<string, string>),
      min_pct: String(band.minPct),
      max_pct: String(band.maxPct),
    },
  };
}
