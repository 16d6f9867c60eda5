/** Depth history, page by page: pages are fetched in parallel and yielded in order. */
import type { Tier } from './cells.js';
import { FathomError, noProgress } from './errors.js';
import { OPERATIONS, type ReplayPage, type ReplayPlan } from './generated/api.js';
import { type Http, type Reply, requestIdOf, type RequestOptions } from './http.js';
import { type Parameters, pathWith } from './methods.js';

// Programs that use no Arrow pages compile without the package.
/* oxlint-disable typescript/ban-ts-comment, typescript/consistent-type-imports */
/** @ts-ignore */
export type ArrowTable = import('apache-arrow').Table;
/* oxlint-enable */

/** A page as an Arrow table, one row per cell. */
export interface ArrowPage extends Omit<ReplayPage, 'snapshots'> {
  /** Every snapshot of the page with its number of rows. */
  snapshots: { t: number; tier: Tier; price_usd: number; cells: number }[];
  table: ArrowTable;
}

/** Parameters of `/replay/:address` besides the address. */
export type ReplayParameters = Omit<Parameters<'getReplay'>, 'address'>;

export interface ReplayOptions extends RequestOptions {
  /** Pages fetched at the same time, 1 to MAX_AHEAD; default 4. */
  ahead?: number;
  /**
   * Whether to check pages against their Repr-Digest. They then travel without compression. Browsers
   * always ask for compression, which makes the check fail.
   */
  checkDigest?: boolean;
}

export const MAX_AHEAD = 16;
export const DEFAULT_AHEAD = 4;
const ARROW = 'application/vnd.apache.arrow.stream';

/** The part of a page that the client needs to find the next one. */
type AnyPage = Pick<ReplayPage, 'next_from' | 'window'>;
/** Fetches the page that begins at `from`, or the first one. */
type FetchPage<P> = (rest: Rest | null, signal: AbortSignal) => Promise<P>;

/** The rest of a window, epoch seconds. */
interface Rest {
  from: number;
  to: number;
}

/** The window's pages as JSON documents, in order. */
export function jsonPages(
  http: Http,
  address: string,
  parameters: ReplayParameters,
  options: ReplayOptions,
): AsyncGenerator<ReplayPage> {
  const pageOf = (reply: Reply): ReplayPage =>
    jsonOf(http, reply, new TextDecoder().decode(reply.bytes)) as ReplayPage;
  return pages(http, address, parameters, options, pageOf);
}

/** The window's pages as Arrow tables, in order. */
export function arrowPages(
  http: Http,
  address: string,
  parameters: ReplayParameters,
  options: ReplayOptions,
): AsyncGenerator<ArrowPage> {
  const tableOf = async (reply: Reply): Promise<ArrowPage> => {
    const { tableFromIPC } = await arrowLibrary();
    const table = tableFromIPC(reply.bytes);
    const { metadata } = table.schema;
    const part = (name: string): unknown => jsonOf(http, reply, metadata.get(name) ?? '');
    const head = part('page') as Omit<ReplayPage, 'snapshots'>;
    return { ...head, snapshots: part('snapshots') as ArrowPage['snapshots'], table };
  };
  return pages(http, address, parameters, options, tableOf, ARROW);
}

async function arrowLibrary() {
  try {
    return await import('apache-arrow');
  } catch (cause) {
    const message = 'Arrow pages need the package apache-arrow, which does not load';
    throw new FathomError(message, { status: null, cause });
  }
}

/** A part of a reply that must be JSON. @throws FathomError */
function jsonOf({ base }: Http, { headers }: Reply, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const details = { status: 200, requestId: requestIdOf(headers), cause };
    throw new FathomError(`${base} did not answer with a replay page`, details);
  }
}

function pages<P extends AnyPage>(
  http: Http,
  address: string,
  parameters: ReplayParameters,
  { ahead = DEFAULT_AHEAD, checkDigest = false, signal }: ReplayOptions,
  decode: (reply: Reply) => P | Promise<P>,
  accept?: string,
): AsyncGenerator<P> {
  if (!Number.isInteger(ahead) || ahead < 1 || ahead > MAX_AHEAD) {
    throw new TypeError(`ahead: expected a whole number from 1 to ${MAX_AHEAD}`);
  }
  const headers = checkDigest
    ? { 'want-repr-digest': 'sha-256=1', 'accept-encoding': 'identity' }
    : undefined;
  const path = (of: 'getReplay' | 'getReplayPlan', rest: Rest | null): string =>
    pathWith(OPERATIONS[of].path, { address, ...parameters, ...rest });
  const fetchPage: FetchPage<P> = async (rest, ended) => {
    const reply = await http.request({
      method: 'GET',
      path: path('getReplay', rest),
      accept,
      headers,
      signal: ended,
    });
    if (checkDigest) await checkDigestOf(http, reply);
    return decode(reply);
  };
  const fetchPlan = (rest: Rest, ended: AbortSignal) =>
    http.json<ReplayPlan>({
      method: 'GET',
      path: path('getReplayPlan', rest),
      signal: ended,
    });
  return inOrder(fetchPage, ahead === 1 ? null : fetchPlan, ahead, signal);
}

/**
 * Fetches the first page, then the pages of the plan, `ahead` at a time. If a page does not end where the
 * plan says, data have changed: it drops later pages, and plans the rest again.
 */
async function* inOrder<P extends AnyPage>(
  fetchPage: FetchPage<P>,
  fetchPlan: ((rest: Rest, signal: AbortSignal) => Promise<ReplayPlan>) | null,
  ahead: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<P> {
  const stopped = new AbortController();
  const ended = stopped.signal;
  const stop = (): void => stopped.abort(signal?.reason);
  signal?.addEventListener('abort', stop);
  if (signal?.aborted) stop();
  try {
    let last = await fetchPage(null, ended);
    yield last;
    while (last.next_from !== null) {
      const rest: Rest = { from: last.next_from, to: last.window.to };
      const starts = fetchPlan === null ? [rest.from] : await startsOf(fetchPlan, rest, ended);
      // Those whose turn has not come: pages that were handed out are no longer held.
      const begun: Promise<P>[] = [];
      for (const [i, start] of starts.entries()) {
        while (begun.length < Math.min(ahead, starts.length - i)) {
          const page = fetchPage({ from: starts[i + begun.length], to: rest.to }, ended);
          // The page may fail long before its turn, or never have a turn.
          page.catch(() => undefined);
          begun.push(page);
        }
        last = await begun[0];
        void begun.shift();
        // Once the signal is aborted, no page is handed out, even if it came earlier.
        ended.throwIfAborted();
        yield last;
        if (last.next_from !== null && last.next_from <= start) throw noProgress(last.next_from);
        const next = starts[i + 1] ?? null;
        if (next !== null && last.next_from !== next) break;
      }
      if (starts.length === 0) return;
    }
  } finally {
    signal?.removeEventListener('abort', stop);
    stopped.abort();
  }
}

/** Starts of the remaining pages; only the first one if the server has no plans. */
async function startsOf(
  fetchPlan: (rest: Rest, signal: AbortSignal) => Promise<ReplayPlan>,
  rest: Rest,
  signal: AbortSignal,
): Promise<number[]> {
  try {
    return (await fetchPlan(rest, signal)).pages.map(({ from }) => from);
  } catch (error) {
    if (error instanceof FathomError && error.status === 404) return [rest.from];
    throw error;
  }
}

/** @throws FathomError */
async function checkDigestOf({ base }: Http, { headers, bytes }: Reply): Promise<void> {
  const details = { status: 200, requestId: requestIdOf(headers) };
  const fail = (why: string) => new FathomError(`${base}: ${why}`, details);
  const sent = /sha-256=:([^:]+):/.exec(headers.get('repr-digest') ?? '')?.[1];
  if (sent === undefined) throw fail('the page came without a digest');
  if (headers.has('content-encoding'))
    throw fail('the digest of a compressed page cannot be checked');
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  if (btoa(String.fromCharCode(...digest)) !== sent) throw fail("the page's digest does not match");
}
