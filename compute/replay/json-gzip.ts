/** A page as JSON in one gzip member. */
import { GzipEncoder } from '../deflate/encoder.js';
import { compressPage } from './compress.js';
import type { ReplayEnvelope } from './envelope.js';
import { writeJson } from './json.js';
import type { Page } from './page.js';
import { PageMatcher } from './page-matches.js';

/** Of fewer cells too little repeats itself to be worth two codes of their own. */
const MIN_MATCHED_CELLS = 512;

/** A body, and its length before it was compressed. */
export interface GzippedText {
  /** Owns its whole ArrayBuffer. */
  body: Uint8Array<ArrayBuffer>;
  plainBytes: number;
}

/** What the page that this thread works on is encoded in: used again for the next. */
const encoder = new GzipEncoder();
const matcher = new PageMatcher(encoder);

/**
 * Encodes a page by what is known of its text where that pays, else by zlib: which of the two
 * follows from the page alone.
 *
 * @param onText called when the text is there and is about to be compressed; what it throws ends it
 */
export function gzipJson(
  page: Page,
  envelope: ReplayEnvelope,
  onText: () => void = () => undefined,
): GzippedText {
  if (page.rowCount < MIN_MATCHED_CELLS) return plainGzipJson(page, envelope);
  const text = writeJson(page, envelope, matcher);
  onText();
  const body = matcher.pays() ? encoder.end(text.length) : compressPage(text, 'gzip');
  return { body, plainBytes: text.length };
}

/** The same by zlib alone. */
export function plainGzipJson(page: Page, envelope: ReplayEnvelope): GzippedText {
  const text = writeJson(page, envelope);
  return { body: compressPage(text, 'gzip'), plainBytes: text.length };
}
