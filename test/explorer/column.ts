/** Columns of the heatmap for tests. */
import { codeOf } from '../../explorer/heatmap/amounts.js';
import * as columns from '../../explorer/heatmap/columns.js';
import type { Column } from '../../explorer/heatmap/columns.js';

/** A column of one cell at bin 0, identified by its amount. */
export function column(t: number, usd = 1000, more: Partial<Column> = {}): Column {
  const codes = new Uint16Array(2 * columns.BIN_COUNT);
  codes[-2 * columns.MIN_BIN] = codeOf(usd);
  const place = { firstBin: 0, lastBin: 0, priceUsd: 100, lnPrice: Math.log(100) };
  return { t, tier: 'raw', stepS: 0, ...place, codes, ...more };
}
