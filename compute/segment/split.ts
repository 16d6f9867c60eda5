/** Cuts a run into segments of the size that pages read well, and describes them for the index. */
import { DEFAULT_BAND } from '../ladder/ladder.js';
import type { SnapshotRun } from './run.js';
import { encodeSegment } from './segment.js';

/** A segment is closed before it would hold more cells, unless one snapshot alone does. */
export const MAX_SEGMENT_CELLS = 16_384;
/** Snapshots of a full page: no reader wants more from one segment. */
export const MAX_SEGMENT_SNAPSHOTS = 288;

/** A segment's block and what the index keeps beside it. */
export interface EncodedSegment {
  /** LZ4 block around the Arrow stream. */
  block: Uint8Array;
  /** Epoch seconds of its snapshots, ascending. */
  times: Uint32Array;
  /** Cells of each snapshot in the default band, ungrouped. */
  bandCells: Uint32Array;
  /** Cells in all. */
  cells: number;
}

/** Splits a run greedily into segments within the limits above, in order. */
export function splitRun(run: SnapshotRun): SnapshotRun[] {
  const pieces: SnapshotRun[] = [];
  for (let first = 0; first < run.t.length;) {
    let last = first + 1;
    while (
      last < run.t.length &&
      last - first < MAX_SEGMENT_SNAPSHOTS &&
      run.cellOffsets[last + 1] - run.cellOffsets[first] <= MAX_SEGMENT_CELLS
    ) {
      last++;
    }
    pieces.push(sliceRun(run, first, last));
    first = last;
  }
  return pieces;
}

/** Snapshots `first <= s < last` of a run; the columns are views. */
export function sliceRun(run: SnapshotRun, first: number, last: number): SnapshotRun {
  const from = run.cellOffsets[first];
  const to = run.cellOffsets[last];
  return {
    ...run,
    t: run.t.slice(first, last),
    priceUsd: run.priceUsd.slice(first, last),
    cellOffsets: run.cellOffsets.slice(first, last + 1).map((offset) => offset - from),
    market: run.market.subarray(from, to),
    bin: run.bin.subarray(from, to),
    supportCents: run.supportCents.subarray(from, to),
    resistanceCents: run.resistanceCents.subarray(from, to),
  };
}

/** Encodes a run, as one segment, with its index entry. */
export function describeSegment(run: SnapshotRun): EncodedSegment {
  const bandCells = new Uint32Array(run.t.length);
  for (let s = 0; s < run.t.length; s++) {
    for (let c = run.cellOffsets[s]; c < run.cellOffsets[s + 1]; c++) {
      if (run.bin[c] >= DEFAULT_BAND.first && run.bin[c] <= DEFAULT_BAND.last) bandCells[s]++;
    }
  }
  return {
    block: encodeSegment(run),
    times: Uint32Array.from(run.t),
    bandCells,
    cells: run.cellOffsets[run.t.length],
  };
}
