/** What a server has of a token, for a download whose window holds no snapshot. */
import { BASE_PATH } from '../api/endpoint.js';
import { get, type GetOptions } from './fetch-page.js';
import { parsePage } from './page.js';
import { isoOf, pageUrl, type ReplayRequest } from './request.js';
import type { Totals } from './totals.js';

/** All that is served, a bin or two of each snapshot. */
const EVERYTHING = { from: '0', group: 'all', min_pct: '0', max_pct: '1' };

/** The times of the first and the newest snapshot, as text; '' where the server does not answer. */
export async function coverageText(
  { url, address }: ReplayRequest,
  { head }: Totals,
  options: GetOptions,
): Promise<string> {
  try {
    const reply = await get(pageUrl({ url, address, parameters: EVERYTHING }, null), options);
    if (reply.status !== 200) return '';
    const { window, next_from: next } = parsePage(reply.body);
    const { from, served_from: first, served_to: last } = window;
    if (first !== null && last !== null && next === null) return snapshotsBetween(first, last);
    const newestT = await newestSnapshot(url, head.resolved_token ?? address, options);
    if (first !== null && next !== null) {
      return snapshotsBetween(
        first,
        typeof newestT === 'number' && newestT >= next ? newestT : null,
      );
    }
    if (newestT === 'unknown') return 'the server does not know this token';
    if (newestT === null) return `there is none since ${isoOf(from)} either`;
    return `the newest one is of ${isoOf(newestT)}, and only those since ${isoOf(from)} are served; a server with --as-of serves earlier ones`;
  } catch {
    options.signal.throwIfAborted();
    return '';
  }
}

function snapshotsBetween(first: number, last: number | null): string {
  return `there are snapshots from ${isoOf(first)} ${last === null ? 'on' : `to ${isoOf(last)}`}`;
}

/** Time of a token's newest snapshot; null where it has none. */
async function newestSnapshot(
  url: string,
  address: string,
  options: GetOptions,
): Promise<number | null | 'unknown'> {
  const query = `token_address=${address}&low_pct_change=0&high_pct_change=0`;
  const reply = await get(new URL(`${url}${BASE_PATH}/market-depth?${query}`), options);
  if (reply.status === 404) return 'unknown';
  const time = reply.headers.get('x-data-time');
  return time === null ? null : Number(time);
}
