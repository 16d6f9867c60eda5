/** How numbered updates of an order book follow each other. */

/** The numbers of an update, as the exchange states them. */
export interface Numbered {
  /** The first number that it covers; null if it covers only `lastId`. */
  firstId: number | null;
  lastId: number;
  /** The number of the update before it; null if it does not state one. */
  previousId: number | null;
}

/** The number of the update that this one follows. */
export const idBefore = ({ previousId, firstId, lastId }: Numbered): number =>
  previousId ?? (firstId ?? lastId) - 1;

/** old: the book includes the update. gap: an update between the book and this one is missing. */
type Following = 'next' | 'old' | 'gap';

/**
 * Whether an update is the next one of a book that includes those up to `lastId`. The first update after a snapshot may
 * begin before the snapshot's number, every later one follows exactly. Where updates state the one before (Binance
 * futures, OKX, Deribit), the first may end at the snapshot's number.
 * @param isFresh whether no update has followed the snapshot yet
 */
export function following(update: Numbered, lastId: number, isFresh: boolean): Following {
  const before = idBefore(update);
  if (before === lastId) return 'next';
  if (update.lastId < lastId) return 'old';
  if (update.lastId === lastId) return isFresh && update.previousId !== null ? 'next' : 'old';
  return isFresh && before < lastId ? 'next' : 'gap';
}
