/** Renders a replay page, from segments to the body of a reply: a task of the pool. */
import { crc32 } from 'node:zlib';
import { GzipEncoder } from '../deflate/encoder.js';
import { Matcher, writeSnapshot } from './page-writer.js';
import type { Market } from '../market.js';
import { PlainMemory } from '../segment/lz4.js';
import { fillSlice, runOfSlice, type RunColumns, type SharedSlice } from '../segment/run.js';
import { runOfSample } from '../segment/sample.js';
import { checkedBlock, decodeSegmentInto, type StoredBlock } from '../segment/segment.js';
import { encodeArrow } from './arrow.js';
import { ownedBytes } from './arrow-stream.js';
import { reusedCells } from './cells.js';
import { compressPage, type ContentEncoding } from './compress.js';
import { beginJson, endJson, writeJson } from './json.js';
import { writeMsgpack } from './msgpack.js';
import {
  buildPage,
  type Page,
  PAGE_LIMITS,
  type PageEnd,
  type PageLimits,
  ReplayCancelled,
  type ReplayEnvelope,
  type Selection,
} from './page.js';
import { pageBuffer } from './page-buffer.js';
import type { ReplayQuery } from './query.js';

export const PAGE_FORMATS = ['json', 'msgpack', 'arrow'] as const;
export type PageFormat = (typeof PAGE_FORMATS)[number];

/** A stored block whose checksum is not verified yet, and a cleared slice for its columns, if there is one. */
export type FreshSegment = StoredBlock & { fillAt: SharedSlice | null };
/** A segment: an LZ4 block from encodeSegment(), or the slice that holds its columns. */
export type SegmentInput = Uint8Array | FreshSegment | { keptAt: SharedSlice };

/** Plain data and bytes that can cross threads. */
export interface PageSource {
  /** The selection's `run` indexes them. */
  segments: readonly SegmentInput[];
  selection: Selection;
  markets: readonly Market[];
  query: ReplayQuery;
  windowContinues: boolean;
  nextT?: number | null;
  limits?: PageLimits;
  /** In shared memory: the task ends once element 0 is not 0. */
  cancel?: Int32Array;
}

export interface RenderInput extends PageSource {
  /** null if the page is part of a message, which has the envelope's fields itself. */
  envelope: ReplayEnvelope | null;
  format: PageFormat;
  encoding: ContentEncoding;
}

/** What a page holds. */
interface PageCounts {
  status: 'done';
  snapshotCount: number;
  rowCount: number;
  end: Exclude<PageEnd, 'more'>;
  nextFrom: number | null;
}

/** A task that made no page. */
type NoPage =
  /** The selection was too short; from the counts the caller judges how much is missing. */
  { status: 'more'; snapshotCount: number; rowCount: number } | { status: 'cancelled' };

export type CountResult = PageCounts | NoPage;

export type RenderResult =
  | (PageCounts & {
      /** Owns its whole ArrayBuffer, so it can be transferred. */
      body: Uint8Array<ArrayBuffer>;
      /** Length of the body before compression. */
      plainBytes: number;
    })
  | NoPage;

/** This thread's memory for segments and cells, reused for every page. */
const plainMemory = new PlainMemory();
const newCells = reusedCells();

/**
 * Decodes the segments, builds the page, encodes and compresses it.
 * @throws Error if a segment is damaged, or the selection does not match the segments and markets
 */
export function renderPage(input: RenderInput): RenderResult {
  return untilCancelled(input, (stopIfCancelled) => render(input, stopIfCancelled));
}

/**
 * Counts what the page holds, without encoding it.
 * @throws Error as renderPage()
 */
export function countPage(input: PageSource): CountResult {
  return untilCancelled(input, (stopIfCancelled) => countsOf(pageOf(input, stopIfCancelled)));
}

export type StopIfCancelled = () => void;

/** Runs the work of a task; it ends early once the task is cancelled. */
export function untilCancelled<R>(
  { cancel }: Pick<PageSource, 'cancel'>,
  work: (stopIfCancelled: StopIfCancelled) => R,
): R | { status: 'cancelled' } {
  const stopIfCancelled = () => {
    if (cancel !== undefined && Atomics.load(cancel, 0) !== 0) {
      throw new ReplayCancelled('replay page cancelled');
    }
  };
  try {
    return work(stopIfCancelled);
  } catch (error) {
    if (error instanceof ReplayCancelled) return { status: 'cancelled' };
    throw error;
  }
}

/** The page is valid until the next one is built. */
function pageOf(input: PageSource, stopIfCancelled: StopIfCancelled): Page {
  const runs = runsOf(input.segments, stopIfCancelled);
  return buildPage({ ...input, runs }, input.limits ?? PAGE_LIMITS, stopIfCancelled, newCells);
}

function countsOf({ snapshotCount, rowCount, end, nextFrom }: Page): CountResult {
  if (end === 'more') return { status: 'more', snapshotCount, rowCount };
  return { status: 'done', snapshotCount, rowCount, end, nextFrom };
}

function render(input: RenderInput, stopIfCancelled: StopIfCancelled): RenderResult {
  const page = pageOf(input, stopIfCancelled);
  const written = countsOf(page);
  if (written.status !== 'done') return written;
  stopIfCancelled();
  if (input.format === 'json' && input.encoding === 'gzip') {
    return { ...written, ...gzipJson(page, input.envelope, stopIfCancelled) };
  }
  const isKept = input.encoding !== 'identity';
  const plain = writePage(page, input.envelope, input.format, isKept ? keptBytes : ownedBytes);
  stopIfCancelled();
  const body = ownBytes(compressPage(plain, input.encoding, input.format === 'json'));
  return { ...written, body, plainBytes: plain.length };
}

/** Decodes one segment; the run is valid until this thread decodes others. */
export function decodeRun(segment: SegmentInput): RunColumns {
  return runsOf([segment])[0];
}

/** Decodes a sample, like decodeRun(); null if the sample is damaged: the segment still has all snapshots. */
export function decodeSampleRun({ block, crc32: written }: StoredBlock): RunColumns | null {
  if (crc32(block) !== written) return null;
  plainMemory.begin([block]);
  return runOfSample(plainMemory.decompress(block));
}

/** Decodes segments; the runs are valid until this thread decodes others. */
function runsOf(
  segments: readonly SegmentInput[],
  stopIfCancelled: StopIfCancelled = () => undefined,
): RunColumns[] {
  const blocks = segments.map((segment) => {
    if (segment instanceof Uint8Array) return segment;
    return 'keptAt' in segment ? null : checkedBlock(segment);
  });
  plainMemory.begin(blocks.filter((block) => block !== null));
  return segments.map((segment, i) => {
    stopIfCancelled();
    if ('keptAt' in segment) return runOfSlice(segment.keptAt);
    const run = decodeSegmentInto(plainMemory, blocks[i] as Uint8Array);
    if ('fillAt' in segment && segment.fillAt !== null) fillSlice(run, segment.fillAt);
    return run;
  });
}

/** Encodes a page; the bytes own their whole ArrayBuffer. */
export function encodePage(
  page: Page,
  envelope: ReplayEnvelope | null,
  format: PageFormat,
): Uint8Array<ArrayBuffer> {
  return ownBytes(writePage(page, envelope, format, ownedBytes));
}

/** Memory of this thread that is valid until the next page is encoded. */
const keptBytes = (bytes: number) => pageBuffer(bytes).out.subarray(0, bytes);

/**
 * Encodes a page; the bytes may be valid only until the next page is encoded.
 * @param allocate allocates memory for formats whose length is known in advance
 */
function writePage(
  page: Page,
  envelope: ReplayEnvelope | null,
  format: PageFormat,
  allocate: typeof ownedBytes,
): Uint8Array<ArrayBuffer> {
  switch (format) {
    case 'json':
      return writeJson(page, envelope);
    case 'msgpack':
      return writeMsgpack(page, envelope);
    case 'arrow':
      if (envelope === null) throw new Error('a message cannot be an Arrow stream');
      return encodeArrow(page, envelope, allocate);
  }
}

/** The same bytes if they fill their ArrayBuffer, otherwise a copy. */
function ownBytes(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
}

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
 * Encodes a page as JSON in one gzip member: by the page writer's matches if they pay, otherwise by zlib. The choice depends
 * only on the page.
 *
 * @param onText called before the text is compressed to its end; may throw to stop
 */
export function gzipJson(
  page: Page,
  envelope: ReplayEnvelope | null,
  onText: () => void = () => undefined,
): GzippedText {
  if (page.rowCount < MIN_MATCHED_CELLS) return plainGzipJson(page, envelope);
  return matchedGzipJson(page, envelope, onText, matchesPay);
}

/** Like gzipJson(), by zlib only once the matches do not pay. @param pays asked with the number of cells so far */
export function matchedGzipJson(
  page: Page,
  envelope: ReplayEnvelope | null,
  onText: () => void,
  pays: (cells: number) => boolean,
): GzippedText {
  let end = beginJson(page, envelope, { encoders: 1, maxDistance: encoder.maxDistance });
  matcher.begin();
  encoder.begin();
  encoder.take(matcher.ofText(0, end));
  let isMatched = true;
  for (let s = 0; s < page.snapshotCount; s++) {
    end = writeSnapshot(s, s > 0);
    if (!isMatched) continue;
    encoder.take(matcher.ofSnapshot());
    const cells = page.cellOffsets[s + 1];
    if (cells >= MIN_JUDGED_CELLS) isMatched = pays(cells);
  }
  const text = endJson(end);
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

/** Like gzipJson(), always by zlib. */
export function plainGzipJson(page: Page, envelope: ReplayEnvelope | null): GzippedText {
  const text = writeJson(page, envelope);
  return { body: compressPage(text, 'gzip'), plainBytes: text.length };
}
