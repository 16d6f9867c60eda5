/** The pages that every server is asked for, in one order. */
import { windowOf } from '../cases/request.js';
import { PAGE_A } from '../data/pages.js';
import { HISTORY_PAGES } from '../store.js';

/** Shares no factor with a page's snapshots: the windows of a token follow in no order. */
const WINDOW_STRIDE = 131;

/** A full page of one token: snapshots number `first` on, epoch seconds `from <= t < to`. */
export interface PageWindow {
  token: number;
  first: number;
  from: number;
  to: number;
}

/** Page number `n`: none comes twice before every window of every token has had its turn. */
export function pageWindow(n: number, tokens: number): PageWindow {
  const { snapshots } = PAGE_A;
  const turn = Math.floor(n / tokens);
  const first = (turn * WINDOW_STRIDE) % ((HISTORY_PAGES - 1) * snapshots);
  return { token: n % tokens, first, ...windowOf(first, snapshots) };
}
