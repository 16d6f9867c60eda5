/** How much is written, and what of it a store holds. */

/** What of a store is counted after the command. */
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

/** How many tokens' pages, and how long ones, hold about so many cells. */
export interface Pages {
  tokens: number;
  snapshots: number;
}
