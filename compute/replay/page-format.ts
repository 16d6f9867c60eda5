/** The formats of a page. */
import { writeArrow } from './arrow.js';
import { beginJson } from './json.js';
import { beginMsgpack } from './msgpack.js';
import { type Page, pageHead, type PageSnapshots, type ReplayEnvelope } from './page.js';

export const PAGE_FORMATS = ['json', 'msgpack', 'arrow'] as const;
export type PageFormat = (typeof PAGE_FORMATS)[number];
/** The formats of live messages. */
export type MessageFormat = Exclude<PageFormat, 'arrow'>;

/** Encodes a page. @returns bytes that are valid until another page is encoded */
export function writePage(
  page: Page,
  envelope: ReplayEnvelope,
  format: PageFormat,
): Uint8Array<ArrayBuffer> {
  if (format === 'arrow') return writeArrow(page, envelope);
  return write(page, pageHead(page, envelope), format);
}

function write(
  snapshots: PageSnapshots,
  fields: object,
  format: MessageFormat,
): Uint8Array<ArrayBuffer> {
  const text =
    format === 'json' ? beginJson(snapshots, fields, 0) : beginMsgpack(snapshots, fields);
  for (let s = 0; s < snapshots.snapshotCount; s++) text.write(s);
  return text.end();
}

/** Encodes a document whose only field is `snapshots`; the bytes own their whole ArrayBuffer. */
export function encodeSnapshots(
  snapshots: PageSnapshots,
  format: MessageFormat,
): Uint8Array<ArrayBuffer> {
  return write(snapshots, {}, format).slice();
}

/** Encodes a page; the bytes own their whole ArrayBuffer. */
export function encodePage(
  page: Page,
  envelope: ReplayEnvelope,
  format: PageFormat,
): Uint8Array<ArrayBuffer> {
  return writePage(page, envelope, format).slice();
}
