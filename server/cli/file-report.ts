/** How ingest and import report what they stored, the stored snapshots that they replaced, and warnings. */
import type { Warning, WarningKind } from '../../compute/ingest/warnings.js';
import type { FileReport } from '../../storage/ingest/prepared.js';
import type { Replaced } from '../../storage/operations.js';
import { count, counted } from './output.js';

/** Rows, and snapshots and cells if there are any: those of holders have no cells. */
export function storedText(
  { rows, snapshots, cells, droppedLevels }: Omit<FileReport, 'replaced'>,
  cellsPerSecond: number | null = null,
): string {
  const shots = snapshots === 0 ? '' : `, ${counted(snapshots, 'snapshot')}`;
  const speed = cellsPerSecond === null ? '' : ` (${count(cellsPerSecond)} cells/s)`;
  const depth =
    cells + droppedLevels === 0
      ? ''
      : `, ${counted(cells, 'cell')}${speed}, ${counted(droppedLevels, 'level')} outside the ladder`;
  return `${counted(rows, 'row')}${shots}${depth}`;
}

const WARNING_TEXTS: Readonly<Record<WarningKind, string>> = {
  no_cells: 'snapshots without a cell',
  outside_ladder: 'snapshots with more than half of their levels outside the ladder',
  crossed_book: 'crossed books',
  wide_spread: 'books with a best ask of more than ten times the best bid',
  replaced_level: 'levels replaced by a later row of the same price',
  one_sided_book: 'books with only one side',
  no_price: 'snapshots left out for want of a price',
  negative_liquidity: 'CLMM pools whose liquidity falls below 0',
  far_from_price: 'books far from the price of their snapshot',
  far_from_stored: 'tokens whose price is far from the stored one',
  over_deposit: 'orders with more left than was deposited',
  future_time: 'times more than an hour ahead',
};

/** @param example the first one */
export function warningText({ kind, count: times }: Warning, example: string): string {
  return `warning: ${WARNING_TEXTS[kind]}: ${count(times)}, such as ${example}`;
}

export function warningJson({ kind, count: times }: Warning, example: string): object {
  return { kind, count: times, example };
}

/** Empty if nothing was replaced. */
export function replacedText({ snapshots, cellsBefore, cellsAfter }: Replaced): string {
  if (snapshots === 0) return '';
  return `, replaced ${counted(snapshots, 'stored snapshot')} (${counted(cellsBefore, 'cell')} before, ${count(cellsAfter)} after)`;
}

export function replacedJson({ snapshots, cellsBefore, cellsAfter }: Replaced): object {
  return { snapshots, cells_before: cellsBefore, cells_after: cellsAfter };
}
