/** The pages that every server has and that are requested from it. */
import { HISTORY_PAGES, PAGE_A, tokenHistory, type TokenHistory } from '../data/pages.js';

export interface PageSet {
  /** What the pages contain, for the table's heading. */
  title: string;
  /** By token; a token's number is its place in the list. */
  histories: readonly TokenHistory[];
}

/** As many snapshots as the API's largest page. A shorter history is one page. */
const PAGE_SNAPSHOTS = PAGE_A.snapshots;

/** Cold pages are requested with this band, which has no fragments: no cell of a set is below it. */
export const COLD_MIN_PCT = -49;

/** Has no common factor with the places of generated and real histories: successive windows are far apart. */
const WINDOW_STRIDE = 131;

/** A page of one token: its snapshots from number `first` on, epoch seconds `from <= t < to`. */
export interface PageWindow {
  token: number;
  address: string;
  first: number;
  snapshots: number;
  from: number;
  to: number;
}

/** The same content as `makeStore` stores for this many tokens. */
export function generatedSet(tokens: number): PageSet {
  const snapshots = HISTORY_PAGES * PAGE_SNAPSHOTS;
  return {
    title: 'generated pages',
    histories: Array.from({ length: tokens }, (_, i) => tokenHistory(PAGE_A, snapshots, i)),
  };
}

/** Page number `n`, with the tokens in turn: none repeats before every page of its token was requested. */
export function pageAt({ histories }: PageSet, n: number): PageWindow {
  const token = n % histories.length;
  const places = Math.max(1, histories[token].run.t.length - PAGE_SNAPSHOTS + 1);
  const turn = Math.floor(n / histories.length);
  return windowFrom(histories, token, (turn * WINDOW_STRIDE) % places);
}

/** Adjacent pages that cover the histories. */
export function wholeHistories({ histories }: PageSet): PageWindow[] {
  return histories.flatMap(({ run: { t } }, token) =>
    Array.from({ length: Math.ceil(t.length / PAGE_SNAPSHOTS) }, (_, page) =>
      windowFrom(histories, token, page * PAGE_SNAPSHOTS),
    ),
  );
}

function windowFrom(histories: readonly TokenHistory[], token: number, first: number): PageWindow {
  const { address, t } = histories[token].run;
  const snapshots = Math.min(PAGE_SNAPSHOTS, t.length - first);
  return { token, address, first, snapshots, from: t[first], to: t[first + snapshots - 1] + 1 };
}

/** Snapshots and cells of all histories. */
export function sizeOf({ histories }: PageSet): { snapshots: number; cells: number } {
  const sum = (length: (one: TokenHistory) => number): number =>
    histories.reduce((all, one) => all + length(one), 0);
  return { snapshots: sum(({ run }) => run.t.length), cells: sum(({ run }) => run.bin.length) };
}
