/** The text of a JSON page around its snapshots. */
import { pageHead, type PageSummary, type ReplayEnvelope } from './page.js';

/** The text after a page's snapshots. */
export const PAGE_TAIL = ']}';

/** A page's text up to and including the bracket that opens the snapshots. */
export function encodeHead(page: PageSummary, envelope: ReplayEnvelope | null): Uint8Array {
  const text = Buffer.from(JSON.stringify({ ...pageHead(page, envelope), snapshots: [] }));
  return text.subarray(0, -PAGE_TAIL.length);
}
