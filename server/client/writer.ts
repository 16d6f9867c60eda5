/** What every output format has in common. */
import type { RemotePage } from './page.js';
import type { Totals } from './totals.js';

export const REPLAY_FORMATS = ['json', 'ndjson', 'csv', 'arrow', 'parquet'] as const;
export type ReplayFormat = (typeof REPLAY_FORMATS)[number];

/** A piece of the part file. */
export type Chunk = string | Uint8Array;

/** Makes the file that pages are appended to, from nothing but the pages and their totals. */
export interface PageWriter {
  /**
   * What a page adds.
   * @param totals with this page
   */
  page(page: RemotePage, totals: Totals): Iterable<Chunk>;
  /**
   * What completes the part file.
   * @param part path of the file so far
   */
  end(totals: Totals, part: string): AsyncIterable<Chunk> | Iterable<Chunk>;
  /** Makes the file that was asked for out of the completed part file, where that is another one. */
  convert?(totals: Totals, part: string, to: string): Promise<void>;
}

/** Whether a page is the first of its window, given the totals with it. */
export function isFirst({ pages }: Totals): boolean {
  return pages === 1;
}
