/** A page as the page writer's text. */
import type { PageSnapshots } from './page.js';
import type { Matcher } from './matcher.js';
import { textBytes } from './page-memory.js';
import { writeSnapshot } from './page-writer.js';

/** The text of a page, which is written part by part in order: its snapshots, or the columns of Arrow. */
export interface PageText {
  /** The end of the text before the first part. */
  headEnd: number;
  parts: number;
  write(part: number): void;
  /** Lists the matches of the part that was written last. */
  matchesOf(part: number, matcher: Matcher): Uint32Array;
  /** How many cells the parts up to this one have. */
  cellsUntil(part: number): number;
  /** Ends the text. @returns a view that is valid until another text begins */
  end(): Uint8Array<ArrayBuffer>;
}

/** The text after the snapshots of a JSON page. */
export const PAGE_TAIL = ']}';

/** The text of a JSON document up to and including the bracket that opens the snapshots. @param fields before them */
export function encodeHead(fields: object): Uint8Array {
  const text = Buffer.from(JSON.stringify({ ...fields, snapshots: [] }));
  return text.subarray(0, -PAGE_TAIL.length);
}

/** A text whose parts are snapshots, after beginSnapshots() with a head of this length. */
export function textOfSnapshots(
  { snapshotCount, cellOffsets }: PageSnapshots,
  headEnd: number,
  { hasCommas, tail }: { hasCommas: boolean; tail: Uint8Array },
): PageText {
  let end = headEnd;
  return {
    headEnd,
    parts: snapshotCount,
    write(s) {
      end = writeSnapshot(s, hasCommas && s > 0);
    },
    matchesOf: (_s, matcher) => matcher.ofSnapshot(),
    cellsUntil: (s) => cellOffsets[s + 1],
    end() {
      const text = textBytes(end + tail.length);
      text.set(tail, end);
      return text;
    },
  };
}
