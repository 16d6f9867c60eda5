/** Encodes a page as JSON and compresses it with gzip in one pass. */
import { GzipEncoder } from '../deflate/encoder.js';
import { compressPage } from './compress.js';
import { beginJson } from './json.js';
import { writePage } from './page-format.js';
import { type Page, pageHead, type ReplayEnvelope } from './page.js';
import { Matcher } from './matcher.js';

/** Pages with fewer cells repeat too little to pay for dynamic codes. */
const MIN_MATCHED_CELLS = 512;

/** A gzip body, and the length of its text. */
export interface GzippedText {
  /** Owns its whole ArrayBuffer. */
  body: Uint8Array<ArrayBuffer>;
  plainBytes: number;
}

/** This thread's encoder and matcher, reused for every page. */
const encoder = new GzipEncoder();
const matcher = new Matcher(0);
/** After this many cells a page is judged while it is being written. */
const MIN_JUDGED_CELLS = 4096;
/** At most one in this many of the changed amounts may occur elsewhere. */
const STRAYS_LIMIT = 2;
/** At most one in this many cells may be new. */
const ADDED_LIMIT = 4;

/**
 * Encodes a page in one gzip member: by the page writer's matches if they pay, otherwise by zlib. The choice depends
 * only on the page.
 *
 * @param onText called before the text is compressed to its end; may throw to stop
 */
export function gzipPage(
  page: Page,
  envelope: ReplayEnvelope,
  onText: () => void = () => undefined,
): GzippedText {
  if (page.rowCount < MIN_MATCHED_CELLS) return plainGzipPage(page, envelope);
  return matchedGzipPage(page, envelope, onText, matchesPay);
}

/** Like gzipPage(), by zlib only once the matches do not pay. @param pays asked with the number of cells so far */
export function matchedGzipPage(
  page: Page,
  envelope: ReplayEnvelope,
  onText: () => void,
  pays: (cells: number) => boolean,
): GzippedText {
  const pageText = beginJson(page, pageHead(page, envelope), 1);
  matcher.begin();
  encoder.begin();
  encoder.take(matcher.ofText(0, pageText.headEnd));
  let isMatched = true;
  for (let s = 0; s < page.snapshotCount; s++) {
    pageText.write(s);
    if (!isMatched) continue;
    encoder.take(matcher.ofSnapshot());
    const cells = page.cellOffsets[s + 1];
    if (cells >= MIN_JUDGED_CELLS) isMatched = pays(cells);
  }
  const text = pageText.end();
  onText();
  isMatched &&= pays(page.rowCount);
  const body = isMatched ? encoder.finish(text.length) : compressPage(text, 'gzip');
  return { body, plainBytes: text.length };
}

/**
 * Whether the matches pay: zlib compresses better if amounts often move to other cells, and is as fast if many cells are
 * added and removed.
 */
function matchesPay(cells: number): boolean {
  const { changed, strays, added } = matcher.counts();
  return STRAYS_LIMIT * strays <= changed && ADDED_LIMIT * added <= cells;
}

/** Like gzipPage(), always by zlib. */
export function plainGzipPage(page: Page, envelope: ReplayEnvelope): GzippedText {
  const text = writePage(page, envelope, 'json');
  return { body: compressPage(text, 'gzip'), plainBytes: text.length };
}
