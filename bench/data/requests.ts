/** Requests for whole pages, and the inputs that render them. */
import { DEFAULT_BAND, DEFAULT_MAX_PCT, DEFAULT_MIN_PCT } from '../../compute/ladder.js';
import { marketsOfPage, type PageNames } from '../../compute/replay/names.js';
import {
  drawPage,
  namePage,
  type Page,
  type PageInput,
  type ReplayEnvelope,
} from '../../compute/replay/page.js';
import type { ReplayGroup, ReplayQuery } from '../../compute/replay/query.js';
import { benchAddress, EVERY_S, HISTORY_PAGES, START_S, type TokenHistory } from './pages.js';

/** The default band, no filter. */
export function queryOf(group: ReplayGroup): ReplayQuery {
  return {
    group,
    types: null,
    excludeTypes: null,
    venues: null,
    excludeVenues: null,
    band: DEFAULT_BAND,
    minPct: DEFAULT_MIN_PCT,
    maxPct: DEFAULT_MAX_PCT,
  };
}

/** The window of `snapshots` snapshots from number `first` on, epoch seconds. */
export function windowOf(first: number, snapshots: number): { from: number; to: number } {
  const from = START_S + first * EVERY_S;
  return { from, to: from + snapshots * EVERY_S };
}

/** Has no common factor with a page's snapshots: successive windows of a token are far apart. */
const WINDOW_STRIDE = 131;

/** A full page of one token: snapshots from number `first` on, epoch seconds `from <= t < to`. */
interface PageWindow {
  token: number;
  first: number;
  from: number;
  to: number;
}

/** Page number `n`, with the tokens in turn: none repeats before every window of every token was requested. */
export function pageWindow(n: number, tokens: number, snapshots: number): PageWindow {
  const turn = Math.floor(n / tokens);
  const first = (turn * WINDOW_STRIDE) % ((HISTORY_PAGES - 1) * snapshots);
  return { token: n % tokens, first, ...windowOf(first, snapshots) };
}

/** The API's path of a page. */
export function pathOf({ token, from, to }: PageWindow, query: string): string {
  return `/api/v1/replay/${benchAddress(token)}?${query}&from=${from}&to=${to}`;
}

/** The envelope of token 0's page at its history's beginning. */
export function envelopeOf(snapshots: number): ReplayEnvelope {
  return {
    token: benchAddress(0),
    resolvedToken: null,
    chain: 'mainchain',
    window: { ...windowOf(0, snapshots), clamped: false },
  };
}

/** The input for the page of a whole history in one run. */
export function pageInput({ run, markets }: TokenHistory, group: ReplayGroup): PageInput {
  const query = queryOf(group);
  return {
    runs: [run],
    selection: { run: new Uint32Array(run.t.length), row: run.t.map((_, row) => row) },
    markets: marketsOfPage(markets, query),
    query,
    windowContinues: false,
    nextT: null,
  };
}

export function buildPage(input: PageInput): Page {
  const { markets } = input;
  return namePage(drawPage(input), markets, markets.names as PageNames);
}
