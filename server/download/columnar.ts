/**
 * What Arrow and Parquet files share: the columns of CSV, then `timestamp` and `price`. The part file is CSV
 * with indexes in place of markets, a fifth of the size; it is converted at the end.
 */
import { cellLines, columnNames, type PageWriter } from './formats.js';
import type { Totals } from './totals.js';

/** Columns of the part file, in order; `slot` indexes the totals' slots. */
export function partColumns({ head }: Totals): string[] {
  const slot = head.group === 'all' ? [] : ['slot'];
  return ['t', 'tier', 'price_usd', ...slot, 'bin', 'support_usd', 'resistance_usd'];
}

export const partPage: PageWriter['page'] = (page, totals) =>
  cellLines(
    page,
    totals,
    '',
    totals.slots.map((_, slot) => `,${slot}`),
  );

/** Columns of the file, in order. */
export function fileColumns(totals: Totals): string[] {
  return [...columnNames(totals), 'timestamp', 'price'];
}
