/** Where the parts of a page's text stand, for who follows its writing. */
import type { SnapshotColumns } from './json.js';

/** One snapshot's amounts of a column: those of cells `from <= i < to` of the page. */
export interface AmountRange {
  from: number;
  to: number;
  /** Where the amount of cell `from + k` begins in the text. */
  at: Int32Array;
}

/** Where the parts of a snapshot's text begin, and its amounts. */
export interface SnapshotMarks {
  start: number;
  /** The key of the tier. */
  tier: number;
  /** The arrays of indexes and bins, their keys included. */
  places: number;
  supportKey: number;
  resistanceKey: number;
  end: number;
  /** Whether the cells stand where those of the last snapshot do. */
  samePlaces: boolean;
  support: AmountRange;
  resistance: AmountRange;
}

export function emptyMarks(): SnapshotMarks {
  return {
    start: 0,
    tier: 0,
    places: 0,
    supportKey: 0,
    resistanceKey: 0,
    end: 0,
    samePlaces: false,
    support: { from: 0, to: 0, at: new Int32Array(0) },
    resistance: { from: 0, to: 0, at: new Int32Array(0) },
  };
}

/** Says which cells' amounts stand in a range, and makes room for where they begin. */
export function setRange(range: AmountRange, from: number, to: number): void {
  range.from = from;
  range.to = to;
  if (range.at.length < to - from) range.at = new Int32Array(2 * (to - from));
}

/** Is told where things stand while a page is written. */
export interface TextFollower {
  /** The text stands up to the bracket that opens the snapshots. */
  begin(text: Uint8Array<ArrayBuffer>, headEnd: number): void;
  /** What the marks of the next snapshot are put into, which has the cells `from <= i < to`. */
  marksFor(from: number, to: number): SnapshotMarks;
  /** Snapshot `s` stands, and its marks are set. */
  follow(columns: SnapshotColumns, s: number): void;
}
