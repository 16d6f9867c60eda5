/** The pool's entry point for single snapshots: what the state in memory is made of. */
import { cellsOfRun, type SnapshotCells } from '../ladder/snapshot-cells.js';
import { decodeSegment } from './segment.js';

/** A segment's block and the rows that are wanted of it. */
export interface PickInput {
  block: Uint8Array;
  rows: readonly number[];
}

/**
 * The wanted snapshots of each segment, in the order asked for.
 * @throws Error where a block is damaged
 */
export function pickSnapshots(inputs: readonly PickInput[]): SnapshotCells[][] {
  return inputs.map(({ block, rows }) => {
    const run = decodeSegment(block);
    return rows.map((row) => cellsOfRun(run, row));
  });
}
