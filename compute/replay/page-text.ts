/** Documents with snapshots as the page writer's text. */
import { textBytes } from './page-memory.js';
import { writeSnapshot } from './page-writer.js';

/** The text of a document, which ends with its snapshots. */
export interface PageText {
  /** The end of the text before the first snapshot. */
  headEnd: number;
  /** Writes snapshot `s`: call it for each snapshot in order. */
  write(s: number): void;
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

/** A text of snapshots, after beginSnapshots() with a head of this length. */
export function textOfSnapshots(
  headEnd: number,
  { hasCommas, tail }: { hasCommas: boolean; tail: Uint8Array },
): PageText {
  let end = headEnd;
  return {
    headEnd,
    write(s) {
      end = writeSnapshot(s, hasCommas && s > 0);
    },
    end() {
      const text = textBytes(end + tail.length);
      text.set(tail, end);
      return text;
    },
  };
}
