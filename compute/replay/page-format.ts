/** The formats of a page. */
import { beginArrow } from './arrow.js';
import { beginJson } from './json.js';
import { beginMsgpack } from './msgpack.js';
import type { Page, ReplayEnvelope } from './page.js';
import type { PageText } from './page-text.js';
import { TEXT_ALONE, type TextUse } from './page-memory.js';

export const PAGE_FORMATS = ['json', 'msgpack', 'arrow'] as const;
export type PageFormat = (typeof PAGE_FORMATS)[number];

/**
 * Starts a page as the page writer's text.
 * @param envelope null if the page is part of a message, which has the envelope's fields itself
 * @throws Error for a message as Arrow
 */
export function beginPage(
  page: Page,
  envelope: ReplayEnvelope | null,
  format: PageFormat,
  use: TextUse,
): PageText {
  switch (format) {
    case 'json':
      return beginJson(page, envelope, use);
    case 'msgpack':
      return beginMsgpack(page, envelope, use);
    case 'arrow':
      if (envelope === null) throw new Error('a message cannot be an Arrow stream');
      return beginArrow(page, envelope, use);
  }
}

/** Encodes a page. @returns a view that is valid until another text begins */
export function writePage(
  page: Page,
  envelope: ReplayEnvelope | null,
  format: PageFormat,
): Uint8Array<ArrayBuffer> {
  const text = beginPage(page, envelope, format, TEXT_ALONE);
  for (let part = 0; part < text.parts; part++) text.write(part);
  return text.end();
}

/** Encodes a page; the bytes own their whole ArrayBuffer. */
export function encodePage(
  page: Page,
  envelope: ReplayEnvelope | null,
  format: PageFormat,
): Uint8Array<ArrayBuffer> {
  return writePage(page, envelope, format).slice();
}
