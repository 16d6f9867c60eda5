/** What `npm run bench:http` measures: a table of stores, flags of the server, requests and clients. */
import { DAY_S, HOUR_S } from '../../compute/time.js';
import { botAddress } from '../data/bots.js';
import { benchAddress, HISTORY_PAGES, PAGE_A, START_S } from '../data/pages.js';
import { pageWindow, pathOf, windowOf } from '../data/requests.js';
import { botTokens, daysOf, type HttpStore, LONG_TOKEN, type StoreName, VENUES } from './stores.js';

/** One row of the table. Rows that follow each other with the same store and flags share a server. */
export interface HttpRow {
  /** `group/what`. */
  name: string;
  store: StoreName;
  /** Flags of the server. */
  flags: readonly string[];
  /** Whether the row begins with a new server. */
  isFirst?: boolean;
  /** Whether the server is measured as the row finds it, without warming it up. */
  isAsFound?: boolean;
  /** Path of request number `n`. */
  path: (n: number, store: HttpStore) => string;
  /** Default: gzip. */
  coding?: 'gzip' | 'br' | 'identity';
  clients: number;
  /** Number of requests; default: as many as are answered in the row's time. */
  requests?: number;
  /** How many times these requests are measured; the turn that took the least CPU counts. */
  turns?: number;
  forMs?: number;
  /**
   * What must be ready before: fragments of these pages in memory, their blocks in memory, or every fragment on disk
   * since an earlier server.
   */
  ready?: 'fragments' | 'blocks' | 'files';
  /** Whether the requests are those of bots: at a fixed rate, or this many at once on each connection. */
  bots?: 'at a rate' | number;
  /** Load besides the bots. */
  beside?: { path?: HttpRow['path']; clients?: number; isCollecting?: boolean };
}

/** Flags of a server that keeps no fragments, and of one that keeps no blocks either. */
const NO_FRAGMENTS = ['--fragments-memory-mib', '0'];
export const COLD = [...NO_FRAGMENTS, '--blocks-memory-mib', '0'];

export function rowsOf(smoke: boolean): HttpRow[] {
  return [
    ...pageRows(smoke),
    ...historyRows(smoke),
    ...seriesRows(smoke),
    ...orderRows(smoke),
    ...botRows(smoke),
  ];
}

/** Page `n` of the tokens in turn. */
const pages =
  (query: string, most = Infinity): HttpRow['path'] =>
  (n, { tokens }) =>
    pathOf(pageWindow(n, Math.min(most, tokens), PAGE_A.snapshots), query);

/** Tokens of warm pages. */
const WARM_TOKENS = 4;
const KINDS = [
  ['group=market', 'gzip'],
  ['group=market', 'br'],
  ['group=market', 'identity'],
  ['group=venue', 'gzip'],
  ['group=all', 'gzip'],
  ['types=onchain_pool', 'gzip'],
] as const;

/** Whole pages: cold, from blocks in memory, from fragments. */
function pageRows(smoke: boolean): HttpRow[] {
  const of = { store: 'pages' } as const;
  const counts = [1, smoke ? 2 : 8];
  const named = (clients: number): string => (clients === 1 ? '1 client' : `${clients} clients`);
  const cold = counts.flatMap((clients) =>
    KINDS.map(([query, coding]) => {
      const name = `pages/cold ${query} ${coding}, ${named(clients)}`;
      return { ...of, name, flags: COLD, path: pages(query), coding, clients };
    }),
  );
  const warm = KINDS.filter(([, coding]) => coding === 'gzip').map(([query]): HttpRow => {
    const name = `pages/warm ${query} gzip, 1 client`;
    const path = pages(query, WARM_TOKENS);
    return { ...of, name, flags: NO_FRAGMENTS, path, clients: 1, ready: 'blocks' };
  });
  const fragments = counts.map((clients): HttpRow => {
    const name = `pages/fragments group=market gzip, ${named(clients)}`;
    const path = pages('group=market', WARM_TOKENS);
    return { ...of, name, flags: [], path, clients, ready: 'fragments' };
  });
  return [...cold, ...warm, ...fragments];
}

const SMALL_MEMORY = ['--memory-mib', '512'];
const CLIENTS = 8;
const VIEWS = ['group=market', 'group=all', 'types=onchain_pool'] as const;
const FIRST_SECONDS = 5;

/** Pages of a history whose fragments do not fit in memory. */
function historyRows(smoke: boolean): HttpRow[] {
  const of = { store: 'history', flags: SMALL_MEMORY, clients: CLIENTS, ready: 'files' } as const;
  const seconds = Array.from({ length: smoke ? 1 : FIRST_SECONDS }, (_, i) => i + 1);
  const starts = VIEWS.slice(0, 2).flatMap((query) =>
    seconds.map((second): HttpRow => {
      const name = `history/second ${second} after a start, ${query}`;
      const path: HttpRow['path'] = (n, store) => randomPlace(100_000 * second + n, store, query);
      return {
        ...of,
        name,
        path,
        isAsFound: true,
        isFirst: second === 1,
        forMs: smoke ? undefined : 1000,
      };
    }),
  );
  const random = (
    [
      ['on disk', []],
      ['in memory alone', ['--fragments-disk-gib', '0']],
      ['none', NO_FRAGMENTS],
    ] as const
  ).flatMap(([how, more]) =>
    VIEWS.map((query): HttpRow => {
      const name = `history/random places, fragments ${how}, ${query}`;
      const path: HttpRow['path'] = (n, store) => randomPlace(n, store, query);
      const ready = how === 'on disk' ? 'files' : undefined;
      return { ...of, name, flags: [...SMALL_MEMORY, ...more], path, ready };
    }),
  );
  const walks = VIEWS.flatMap((query) =>
    ['first walk after a start', 'first walk later'].map((walk, half): HttpRow => {
      const path: HttpRow['path'] = (n, { tokens }) => {
        const first = (n % HISTORY_PAGES) * PAGE_A.snapshots;
        const token = half * Math.floor(tokens / 2) + Math.floor(n / HISTORY_PAGES);
        return pathOf({ token, first, ...windowOf(first, PAGE_A.snapshots) }, query);
      };
      const requests = HISTORY_PAGES * (smoke ? 1 : 24);
      return {
        ...of,
        name: `history/${walk}, ${query}`,
        path,
        requests,
        isAsFound: true,
        isFirst: half === 0,
      };
    }),
  );
  return [...starts, ...walks, ...random];
}

/** A whole page of a random token from a random place. */
function randomPlace(n: number, { tokens }: HttpStore, query: string): string {
  const place = mixed(n + 1);
  const token = place % tokens;
  const first = Math.floor(place / tokens) % ((HISTORY_PAGES - 1) * PAGE_A.snapshots + 1);
  return pathOf({ token, first, ...windowOf(first, PAGE_A.snapshots) }, query);
}

/** A pseudo-random whole number: the finalizer of MurmurHash3. */
function mixed(n: number): number {
  let hash = Math.imul(n ^ (n >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

const POINTS = 500;

/** Depth over time: the first requests after a start, and further ones in windows that move. */
function seriesRows(smoke: boolean): HttpRow[] {
  const { month, year } = daysOf(smoke);
  const points = Math.min(POINTS, month * 24);
  const hours = (n: number): string => {
    const to = START_S + month * DAY_S - (n % 24) * HOUR_S;
    return `step=1h&from=${to - points * HOUR_S}&to=${to}`;
  };
  const questions: [store: 'month' | 'year', name: string, query: (n: number) => string][] = [
    ['month', `${points} points, 1h`, hours],
    ['month', `${points} points, 1h, by venue`, (n) => `${hours(n)}&group=venue`],
    [
      'month',
      `${points} points, 1h, spot markets`,
      (n) => `${hours(n)}&types=cex_spot&pct=0.5,3,25`,
    ],
    ['year', `${year} points, 1d`, () => `step=1d&from=${START_S}&to=${START_S + year * DAY_S}`],
  ];
  return questions.flatMap(([store, name, query]) => {
    const path: HttpRow['path'] = (n, { tokens }) =>
      `/api/v1/depth-series/${benchAddress(n % tokens)}?${query(n)}`;
    const of = { store, flags: [], path, clients: 1, isAsFound: true };
    const tokens = store === 'year' || smoke ? 1 : 4;
    return [
      { ...of, name: `series/${name}, first`, isFirst: true, requests: tokens },
      { ...of, name: `series/${name}, again`, requests: smoke ? 2 : 40 },
    ];
  });
}

const AMOUNTS = Array.from({ length: 19 }, (_, i) => 1000 * (i + 1)).join(',');

/** Cost of orders, and market depth, of a newest snapshot. A new question has one more amount, or another move. */
function orderRows(smoke: boolean): HttpRow[] {
  const asks = VENUES.flatMap((venues, token) =>
    (
      [
        ['1 amount', 'usd=50000&move_pct=2'],
        ['3 amounts', 'usd=5000,50000,500000&move_pct=1,2'],
        ['19 amounts', `move_pct=1&usd=${AMOUNTS}`],
      ] as const
    ).flatMap(([amounts, query]) => {
      const path = `/api/v1/slippage/${benchAddress(token)}?side=sell&${query}`;
      const name = `${venues} venues, ${amounts}`;
      return [
        [`${name}, new`, (n: number) => `${path},${40 + n / 1e6}`],
        [`${name}, again`, () => path],
      ] as const;
    }),
  );
  const depth = `/api/v1/market-depth?token_address=${benchAddress(0)}&exchange_type=ALL`;
  const all: (readonly [name: string, path: (n: number) => string])[] = [
    ...asks,
    ['/market-depth, new', (n) => `${depth}&low_pct_change=-${(0.5 + n / 1e7).toFixed(7)}`],
    ['/market-depth, again', () => depth],
    ['/score, for comparison', () => `/api/v1/score/${benchAddress(0)}`],
  ];
  const effort = { clients: CLIENTS, requests: smoke ? 20 : 2000, turns: smoke ? 1 : 3 };
  return all.map(([name, path]) => {
    return { ...effort, name: `slippage/${name}`, store: 'orders', flags: [], path };
  });
}

const ATONCE_CONNECTIONS = 30;
const RATE_CONNECTIONS = 16;

/** Bots at a rate. */
export function botRow(smoke: boolean): HttpRow {
  const path: HttpRow['path'] = (n) => botPath(n, smoke);
  const clients = RATE_CONNECTIONS;
  const bots = 'at a rate';
  return { name: 'bots/alone', store: 'bots', flags: [], path, coding: 'identity', clients, bots };
}

/** Bots at a rate, alone and beside other load that should not disturb them; and as fast as they are answered. */
function botRows(smoke: boolean): HttpRow[] {
  const plans = `/api/v1/replay/${LONG_TOKEN}/plan?from=-365d`;
  const two = (path: string) => ({ path: () => path, clients: 2 });
  const [cold, fromFragments] = [pages('group=venue'), pages('group=market')];
  const beside: [name: string, load: HttpRow['beside']][] = [
    ['alone', undefined],
    ['cold pages', { path: cold }],
    ['default pages', { path: fromFragments }],
    ['ingest', { isCollecting: true }],
    ['cold pages, ingest', { path: cold, isCollecting: true }],
    ['plans', two(plans)],
    ['filtered plans', two(`${plans}&types=onchain_pool`)],
    ['coverage', two(`/api/v1/coverage/${LONG_TOKEN}`)],
  ];
  // Pipelined, these connections have 480 requests at once. A turn of the server answers 500; it cuts clients that then
  // pipeline more.
  const floods = [
    ['flat out', 1],
    ['flat out, pipelined', 16],
  ] as const;
  return [
    ...beside.map(([name, load]): HttpRow => {
      return { ...botRow(smoke), name: `bots/${name}`, beside: load };
    }),
    ...floods.map(([name, atOnce]): HttpRow => {
      const clients = ATONCE_CONNECTIONS;
      return { ...botRow(smoke), name: `bots/${name}`, clients, bots: atOnce };
    }),
  ];
}

/** Path number `n` of those that bots choose from: two for each token. */
function botPath(n: number, smoke: boolean): string {
  const address = botAddress(Math.floor(n / 2) % botTokens(smoke));
  return n % 2 === 0 ? `/api/v1/score/${address}` : `/api/v1/market-depth?token_address=${address}`;
}
