/** Renders a replay page, from segments to the body of a reply: a task of the pool. */
import { crc32 } from 'node:zlib';
import { PlainMemory } from '../segment/lz4.js';
import type { RunColumns } from '../segment/run.js';
import { runOfSample } from '../segment/sample.js';
import { decodeSegmentInto, type StoredBlock } from '../segment/segment.js';
import { reusedCells } from './cells.js';
import { compressPage, type ContentEncoding } from './compress.js';
import type { ListedNames, PageMarkets } from './names.js';
import {
  drawPage,
  namePage,
  namesListed,
  PAGE_LIMITS,
  type PageEnd,
  type PageLimits,
  ReplayCancelled,
  type ReplayEnvelope,
  type Selection,
  type UnnamedPage,
} from './page.js';
import { encodePage, type PageFormat, writePage } from './page-format.js';
import { gzipPage } from './page-gzip.js';
import type { ReplayQuery } from './query.js';

/** Plain data and bytes that can cross threads. */
export interface PageSource {
  /** LZ4 blocks from encodeSegment(). The selection's `run` indexes them. */
  segments: readonly Uint8Array[];
  selection: Selection;
  markets: PageMarkets;
  query: ReplayQuery;
  windowContinues: boolean;
  nextT?: number | null;
  limits?: PageLimits;
  /** In shared memory: the task ends once element 0 is not 0. */
  cancel?: Int32Array;
}

export interface RenderInput extends PageSource {
  envelope: ReplayEnvelope;
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
  /** The page needs its names. */
  | { status: 'unnamed'; listed: ListedNames }
  | NoPage;

/** This thread's memory for segments and cells, reused for every page. */
const plainMemory = new PlainMemory();
export const newCells = reusedCells();

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
function pageOf(input: PageSource, stopIfCancelled: StopIfCancelled): UnnamedPage {
  const runs = runsOf(input.segments, stopIfCancelled);
  return drawPage({ ...input, runs }, input.limits ?? PAGE_LIMITS, stopIfCancelled, newCells);
}

function countsOf({ snapshotCount, rowCount, end, nextFrom }: UnnamedPage): CountResult {
  if (end === 'more') return { status: 'more', snapshotCount, rowCount };
  return { status: 'done', snapshotCount, rowCount, end, nextFrom };
}

function render(input: RenderInput, stopIfCancelled: StopIfCancelled): RenderResult {
  const unnamed = pageOf(input, stopIfCancelled);
  const written = countsOf(unnamed);
  if (written.status !== 'done') return written;
  stopIfCancelled();
  const { envelope, format, encoding, markets } = input;
  const { names } = markets;
  if (names === null) return { status: 'unnamed', listed: namesListed(unnamed, markets) };
  const page = namePage(unnamed, markets, names);
  if (format === 'json' && encoding === 'gzip')
    return { ...written, ...gzipPage(page, envelope, stopIfCancelled) };
  if (encoding === 'identity') {
    const body = encodePage(page, envelope, format);
    return { ...written, body, plainBytes: body.length };
  }
  const plain = writePage(page, envelope, format);
  stopIfCancelled();
  const body = compressPage(plain, encoding, format === 'json');
  return { ...written, body, plainBytes: plain.length };
}

/** Decodes one segment; the run is valid until this thread decodes others. */
export function decodeRun(segment: Uint8Array): RunColumns {
  return runsOf([segment])[0];
}

/** Decodes a sample, like decodeRun(); null if the sample is damaged: the segment still has all snapshots. */
export function decodeSampleRun({ block, crc32: written }: StoredBlock): RunColumns | null {
  if (crc32(block) !== written) return null;
  plainMemory.begin([block]);
  return runOfSample(plainMemory.decompress(block));
}

/** Decodes segments; the runs are valid until this thread decodes others. */
export function runsOf(
  segments: readonly Uint8Array[],
  stopIfCancelled: StopIfCancelled = () => undefined,
): RunColumns[] {
  plainMemory.begin(segments);
  return segments.map((segment) => {
    stopIfCancelled();
    return decodeSegmentInto(plainMemory, segment);
  });
}
