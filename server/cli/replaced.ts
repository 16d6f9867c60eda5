/** How ingest and import report the stored snapshots that they replaced. */
import type { Replaced } from '../../storage/operations.js';
import { count, counted } from './output.js';

/** Empty if nothing was replaced. */
export function replacedText({ snapshots, cellsBefore, cellsAfter }: Replaced): string {
  if (snapshots === 0) return '';
  return `, replaced ${counted(snapshots, 'stored snapshot')} (${counted(cellsBefore, 'cell')} before, ${count(cellsAfter)} after)`;
}

export function replacedJson({ snapshots, cellsBefore, cellsAfter }: Replaced): object {
  return { snapshots, cells_before: cellsBefore, cells_after: cellsAfter };
}
