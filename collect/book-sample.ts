/** Samples of order books. */
import { bookBody } from '../storage/import/book-sampler.js';
import type { OrderBook } from '../storage/import/order-book.js';
import { faultAlone } from './bin-alone.js';
import type { Missing, Sample } from './source.js';

/** What a configuration says of the sizes of a book. */
export interface SizeOptions {
  contractUsd?: number;
  contractSize?: number;
}

export const CROSSED = 'the best bid is not below the best ask';

/** The state of a whole book, or why it has none. */
export function sampleOfBook(
  book: OrderBook,
  pair: string,
  sizes: SizeOptions,
  ageMs: number,
): Sample | Missing {
  if (!book.hasBothSides) return { missing: 'a side of the book is empty' };
  const sorted = book.sorted();
  const [[bid], [ask]] = [sorted.bids[0], sorted.asks[0]];
  if (bid >= ask) return { missing: CROSSED };
  const price = (bid + ask) / 2;
  const body = (quoteUsd: number) => ({ book: bookBody(sorted, { ...sizes, quoteUsd }) });
  const fault = faultAlone(price, body(1));
  if (fault !== null) return { missing: fault };
  return {
    price,
    body,
    book: sorted,
    address: null,
    pair,
    ageMs,
  };
}
