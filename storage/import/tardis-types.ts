/** The data types of Tardis CSV files, recognised by their headers. */

import type { ImportFormat } from './formats.js';

/** What imports files of a type, by the beginning of its name. */
export const FORMAT_OF_TYPE: readonly [string, ImportFormat][] = [
  ['incremental_book_L2', 'tardis-incremental-l2'],
  ['book_snapshot_', 'tardis-book-snapshot'],
];

/** Columns that only files of a type have, by the type's name; the first match counts. */
const TYPES: readonly [string, readonly string[]][] = [
  ['incremental_book_L2', ['is_snapshot', 'side', 'price', 'amount']],
  ['options_chain', ['strike_price']],
  ['derivative_ticker', ['mark_price']],
  ['quotes', ['ask_price', 'bid_price']],
  ['trades or liquidations', ['id', 'side', 'price', 'amount']],
];

/** The data type of a header; null if it is unknown. */
export function tardisType(columns: readonly string[]): string | null {
  const levels = columns.filter((name) => /^asks\[[0-9]+\]\.price$/.test(name)).length;
  if (levels > 0) return `book_snapshot_${levels}`;
  const found = TYPES.find(([, needed]) => needed.every((name) => columns.includes(name)));
  return found?.[0] ?? null;
}
