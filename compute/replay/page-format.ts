/** The formats of a page. */
import { beginArrow } from './arrow.js';
import { beginJson } from './json.js';
import { beginMsgpack } from './msgpack.js';
import { type Page, pageHead, type PageSnapshots, type ReplayEnvelope } from './page.js';
import type { PageText } from './page-text.js';
import { type Encoders } from './page-memory.js';

export const PAGE_FORMATS = ['json', 'msgpack', 'arrow'] as const;
export type PageFormat = (typeof PAGE_FORMATS)[number];
/** The formats of live messages. */
export type MessageFormat = Exclude<PageFormat, 'arrow'>;

/** Starts a page as the page writer's text. */
export function beginPage(
  page: Page,
  envelope: ReplayEnvelope,
  format: PageFormat,
  encoders: Encoders,
): PageText {
  switch (format) {
    case 'json':
      return beginJson(page, pageHead(page, envelope), encoders);
    case 'msgpack':
      return beginMsgpack(page, pageHead(page, envelope), encoders);
    case 'arrow':
      return beginArrow(page, envelope, encoders);
  }
}

/** Encodes a page. @returns a view that is valid until another text begins */
export function writePage(
  page: Page,
  envelope: ReplayEnvelope,
  format: PageFormat,
): Uint8Array<ArrayBuffer> {
  return written(beginPage(page, envelope, format, 0));
}

function written(text: PageText): Uint8Array<ArrayBuffer> {
  for (let part = 0; part < text.parts; part++) text.write(part);
  return text.end();
}

/** Encodes a document whose only field is `snapshots`; the bytes own their whole ArrayBuffer. */
export function encodeSnapshots(
  snapshots: PageSnapshots,
  format: MessageFormat,
): Uint8Array<ArrayBuffer> {
  const begin = format === 'json' ? beginJson : beginMsgpack;
  return written(begin(snapshots, {}, 0)).slice();
}

/** Encodes a page; the bytes own their whole ArrayBuffer. */
export function encodePage(
  page: Page,
  envelope: ReplayEnvelope,
  format: PageFormat,
): Uint8Array<ArrayBuffer> {
  return writePage(page, envelope, format).slice();
}
