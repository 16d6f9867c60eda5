/** Entries of each list that a report keeps; the rest are counted. */
export const MAX_REPORTED = 50;

/** The first MAX_REPORTED of something, and how many there were. */
export class Tally<T> {
  count = 0;
  readonly first: T[] = [];

  add(item: T): void {
    this.count++;
    if (this.first.length < MAX_REPORTED) this.first.push(item);
  }
}

/** Something about the feed at a time. */
export interface FeedNote {
  /** Epoch seconds of the feed, with a fraction; null before the feed's first time. */
  t: number | null;
  reason: string;
}

/** An input entry that became no row or no link. */
export interface LeftOut {
  /** `file:line`, or `file` with the entry's number in a list. */
  where: string;
  /** What was left out: a pool, a mint, a contract. */
  what: string;
  reason: string;
}

/** What an import did, for people and for `--json`: its memory is bounded. */
export class ImportReport {
  /** Messages of an order book, pool states, or list entries read. */
  messages = 0;
  /** Rows of the dataset handed on. */
  rows = 0;
  /** Breaks after which the book was not used until it was whole again, and fresh starts. */
  readonly gaps = new Tally<FeedNote>();
  /** Messages whose time lies before that of the one before them; they are applied in file order. */
  readonly outOfOrder = new Tally<FeedNote>();
  /** Rows handed on whose best bid is at or above the best ask. */
  readonly crossed = new Tally<FeedNote>();
  /** Updates and snapshots that the book already held, or that came before any snapshot. */
  oldMessages = 0;
  readonly leftOut = new Tally<LeftOut>();
}
