/** The pool's task: segments in, a reply's body out. */
import type { Market } from '../market/market.js';
import { decodeSegment } from '../segment/segment.js';
import { encodeArrow } from './arrow.js';
import { compressPage, type ContentEncoding } from './compress.js';
import type { ReplayEnvelope } from './envelope.js';
import { encodeJson } from './json.js';
import { encodeMsgpack } from './msgpack.js';
import {
  PAGE_LIMITS,
  ReplayCancelled,
  buildPage,
  type Page,
  type PageEnd,
  type PageLimits,
  type Selection,
} from './page.js';
import type { ReplayQuery } from './query.js';

export const PAGE_FORMATS = ['json', 'msgpack', 'arrow'] as const;
export type PageFormat = (typeof PAGE_FORMATS)[number];

/** Plain data and bytes: it crosses a thread boundary. */
export interface RenderInput {
  /** LZ4 blocks that encodeSegment made; the selection's `run` indexes them. */
  segments: readonly Uint8Array[];
  selection: Selection;
  markets: readonly Market[];
  query: ReplayQuery;
  windowContinues: boolean;
  nextT?: number | null;
  envelope: ReplayEnvelope;
  format: PageFormat;
  encoding: ContentEncoding;
  limits?: PageLimits;
  /** In shared memory: the task ends as soon as element 0 is not 0. */
  cancel?: Int32Array;
}

export type RenderResult =
  | {
      status: 'done';
      /** Owns its whole ArrayBuffer, so it can be transferred. */
      body: Uint8Array<ArrayBuffer>;
      /** Length of the body before its content coding. */
      plainBytes: number;
      snapshotCount: number;
      rowCount: number;
      end: Exclude<PageEnd, 'more'>;
      nextFrom: number | null;
    }
  /** The selection was too short: what it gave, so that the caller can judge how much is missing. */
  | { status: 'more'; snapshotCount: number; rowCount: number }
  | { status: 'cancelled' };

/**
 * Decodes the segments, builds the page, encodes and compresses it.
 * @throws Error where a segment is damaged, or the selection does not fit segments and markets
 */
export function renderPage(input: RenderInput): RenderResult {
  const { cancel } = input;
  const cancelled = () => cancel !== undefined && Atomics.load(cancel, 0) !== 0;
  try {
    return render(input, cancelled);
  } catch (error) {
    if (error instanceof ReplayCancelled) return { status: 'cancelled' };
    throw error;
  }
}

function render(input: RenderInput, cancelled: () => boolean): RenderResult {
  const stopIfCancelled = () => {
    if (cancelled()) throw new ReplayCancelled('replay page cancelled');
  };
  const runs = input.segments.map((segment) => {
    stopIfCancelled();
    return decodeSegment(segment);
  });
  const page = buildPage({ ...input, runs }, input.limits ?? PAGE_LIMITS, cancelled);
  const { snapshotCount, rowCount, end, nextFrom } = page;
  if (end === 'more') return { status: 'more', snapshotCount, rowCount };
  stopIfCancelled();
  const plain = encodePage(page, input.envelope, input.format);
  stopIfCancelled();
  const body = compressPage(plain, input.encoding);
  const plainBytes = plain.length;
  return { status: 'done', body, plainBytes, snapshotCount, rowCount, end, nextFrom };
}

/** Encodes a page in one of the formats; the bytes own their whole ArrayBuffer. */
export function encodePage(
  page: Page,
  envelope: ReplayEnvelope,
  format: PageFormat,
): Uint8Array<ArrayBuffer> {
  switch (format) {
    case 'json':
      return encodeJson(page, envelope);
    case 'msgpack':
      return encodeMsgpack(page, envelope);
    case 'arrow':
      return encodeArrow(page, envelope);
  }
}
