/** Samples of order books. */
import { bookBody } from '../storage/import/book-sampler.js';
import type { SortedBook } from '../storage/import/order-book.js';
import type { Missing, Sample } from './source.js';

/** What a configuration says of the sizes of a book. */
export interface SizeOptions {
  contractUsd?: number;
  contractSize?: number;
}

export const CROSSED = 'the best bid is not below the best ask';

/** The state of a whole book, or why it has none. */
export function sampleOfBook(
  book: SortedBook,
  pair: string,
  sizes: SizeOptions,
  ageMs: number,
): Sample | Missing {
  if (book.bids.length === 0 || book.asks.length === 0) {
    return { missing: 'a side of the book is empty' };
  }
  const [[bid], [ask]] = [book.bids[0], book.asks[0]];
  if (bid >= ask) return { missing: CROSSED };
  return {
    price: (bid + ask) / 2,
    body: (quoteUsd) => ({ book: bookBody(book, { ...sizes, quoteUsd }) }),
    book,
    address: null,
    pair,
    ageMs,
  };
}
