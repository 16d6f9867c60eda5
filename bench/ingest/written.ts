/** Sizes of inputs, and of what a store has of them. */

/** Counts of a store after the command. */
export interface Contents {
  tokens: number;
  /** Cells, holders' rows, or rows of a flat dataset. */
  items: number;
}

/** What a generator has written. */
export interface Written {
  rows: number;
  cells: number;
  tokens: number;
  items: number;
}

/** The tokens of an input, and the snapshots of each. */
export interface Pages {
  tokens: number;
  snapshots: number;
}
