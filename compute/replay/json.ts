/** A replay page as JSON text, byte for byte as JSON.stringify writes it. */
import { TIERS } from '../market.js';
import {
  MAX_AMOUNT_BYTES,
  MAX_BIN_BYTES,
  MAX_INDEX_BYTES,
  textBuffer,
  type TextBuffer,
  writeAmounts,
  writeAscii,
  writeBins,
  writeIndexes,
  writeUint,
} from './digits.js';
import { indexKey, type Page, pageHead, type PageSummary, type ReplayEnvelope } from './page.js';

/** A cell's four numbers with their commas. */
const MAX_CELL_BYTES = MAX_INDEX_BYTES + MAX_BIN_BYTES + 2 * MAX_AMOUNT_BYTES;
/** A snapshot's names and brackets, time, tier and price (at most 24 characters). */
const MAX_SNAPSHOT_BYTES = 192;

const COMMA = 44;
const CLOSE_BRACKET = 93;

/** The columns from which snapshots are written. */
export type SnapshotColumns = Pick<
  Page,
  't' | 'tier' | 'priceUsd' | 'cellOffsets' | 'index' | 'bin' | 'supportCents' | 'resistanceCents'
> & { query: Pick<Page['query'], 'group'> };

/**
 * Encodes a page. Amounts are exact cents in their shortest form; other numbers are as JavaScript writes
 * them. Above 2^46 USD, where cents are finer than doubles, the text is still exact and therefore longer than
 * a double's shortest form.
 *
 * @param follower called at the beginning of each part of the text
 * @returns a view of the buffer that the next page overwrites
 */
export function writeJson(
  page: Page,
  envelope: ReplayEnvelope | null,
  follower: TextListener | null = null,
): Uint8Array<ArrayBuffer> {
  const head = encodeHead(page, envelope);
  const buffer = textBuffer(head.length + PAGE_TAIL.length + snapshotBytes(page));
  const { out } = buffer;
  out.set(head);
  const writer = snapshotWriter(buffer, page, follower);
  follower?.begin(out, head.length);
  let at = head.length;
  for (let s = 0; s < page.snapshotCount; s++) {
    if (s > 0) out[at++] = COMMA;
    at = writer(at, s);
  }
  return out.subarray(0, writeAscii(out, at, PAGE_TAIL));
}

/** The text after a page's snapshots. */
export const PAGE_TAIL = ']}';

/** A page's text up to and including the bracket that opens the snapshots. */
export function encodeHead(page: PageSummary, envelope: ReplayEnvelope | null): Uint8Array {
  const text = Buffer.from(JSON.stringify({ ...pageHead(page, envelope), snapshots: [] }));
  return text.subarray(0, -PAGE_TAIL.length);
}

/**
 * Encodes snapshots, each with a comma before it: snapshot `s` is `offsets[s] <= i < offsets[s + 1]`
 * of the bytes.
 *
 * @returns a view of the buffer that the next page overwrites
 */
export function writeSnapshots(
  columns: SnapshotColumns,
  follower: TextListener,
): { bytes: Uint8Array<ArrayBuffer>; offsets: Uint32Array } {
  const buffer = textBuffer(snapshotBytes(columns));
  const { out } = buffer;
  const offsets = new Uint32Array(columns.t.length + 1);
  const writer = snapshotWriter(buffer, columns, follower);
  follower.begin(out, 0);
  for (let s = 0; s < columns.t.length; s++) {
    out[offsets[s]] = COMMA;
    offsets[s + 1] = writer(offsets[s] + 1, s);
  }
  return { bytes: out.subarray(0, offsets[columns.t.length]), offsets };
}

/** Upper bound of the snapshots' bytes, commas included. */
function snapshotBytes({ t, bin }: SnapshotColumns): number {
  return t.length * MAX_SNAPSHOT_BYTES + bin.length * MAX_CELL_BYTES;
}

/** Returns a function that writes snapshot `s` at a position; call it for each snapshot in order. */
function snapshotWriter(
  buffer: TextBuffer,
  columns: SnapshotColumns,
  follower: TextListener | null,
): (at: number, s: number) => number {
  const { out, view } = buffer;
  const { cellOffsets, supportCents, resistanceCents } = columns;
  const key = indexKey(columns);
  // Where the previous snapshot's arrays of indexes and bins begin and end.
  let positionsAt = 0;
  let positionsEnd = 0;
  return (start, s) => {
    const from = cellOffsets[s];
    const to = cellOffsets[s + 1];
    const marks = follower === null ? null : follower.marksFor(from, to);
    let at = writeAscii(out, start, '{"t":');
    at = writeTime(buffer, at, columns.t[s]);
    const tierAt = at;
    at = writeAscii(out, at, `,"tier":"${TIERS[columns.tier[s]]}","price_usd":`);
    at = writeAscii(out, at, String(columns.priceUsd[s]));
    const startAt = at;
    const samePositions = s > 0 && hasPositionsOfLast(columns, s);
    if (samePositions) {
      out.copyWithin(at, positionsAt, positionsEnd);
      at += positionsEnd - positionsAt;
    } else at = writePositions(buffer, at, columns, from, to, key);
    positionsAt = startAt;
    positionsEnd = at;
    at = writeAscii(out, at, ',"support_usd":[');
    at = writeAmounts(buffer, at, supportCents, from, to, marks && marks.support.at);
    at = closeArray(view, at, to > from);
    const resistanceAt = at;
    at = writeAscii(out, at, ',"resistance_usd":[');
    at = writeAmounts(buffer, at, resistanceCents, from, to, marks && marks.resistance.at);
    at = closeArray(view, at, to > from);
    at = writeAscii(out, at, '}');
    if (follower === null || marks === null) return at;
    marks.start = start;
    marks.tier = tierAt;
    marks.positions = positionsAt;
    marks.supportKey = positionsEnd;
    marks.resistanceKey = resistanceAt;
    marks.end = at;
    marks.samePositions = samePositions;
    follower.follow(columns, s);
    return at;
  };
}

/** Writes the arrays of indexes and bins, which often stay the same for hours. */
function writePositions(
  buffer: TextBuffer,
  at: number,
  { index, bin }: SnapshotColumns,
  from: number,
  to: number,
  key: string | null,
): number {
  const { out, view } = buffer;
  if (key !== null && index !== null) {
    at = writeAscii(out, at, `,"${key}":[`);
    at = closeArray(view, writeIndexes(buffer, at, index, from, to), to > from);
  }
  at = writeAscii(out, at, ',"bin":[');
  return closeArray(view, writeBins(buffer, at, bin, from, to), to > from);
}

/** Whether a snapshot's cells have the same indexes and bins as those of the previous snapshot. */
function hasPositionsOfLast({ cellOffsets, index, bin }: SnapshotColumns, s: number): boolean {
  const from = cellOffsets[s];
  const count = cellOffsets[s + 1] - from;
  const last = cellOffsets[s - 1];
  if (from - last !== count) return false;
  for (let i = 0; i < count; i++) if (bin[last + i] !== bin[from + i]) return false;
  if (index === null) return true;
  for (let i = 0; i < count; i++) if (index[last + i] !== index[from + i]) return false;
  return true;
}

/** Writes the closing bracket, over the comma of the last item if there is one. */
function closeArray(view: DataView, at: number, hasItems: boolean): number {
  if (hasItems) at--;
  view.setUint8(at, CLOSE_BRACKET);
  return at + 1;
}

/** Writes epoch seconds, which can exceed 2^31. */
function writeTime({ out, view }: TextBuffer, at: number, t: number): number {
  return t < 0x8000_0000 ? writeUint(view, at, t) : writeAscii(out, at, String(t));
}

/** One snapshot's amounts of a column: those of cells `from <= i < to` of the page. */
export interface AmountRange {
  from: number;
  to: number;
  /** Where the amount of cell `from + k` begins in the text. */
  at: Int32Array;
}

/** Where the parts of a snapshot's text and its amounts begin. */
export interface SnapshotMarks {
  start: number;
  /** The name of the tier. */
  tier: number;
  /** The arrays of indexes and bins, with their names. */
  positions: number;
  supportKey: number;
  resistanceKey: number;
  end: number;
  /** Whether the cells have the same indexes and bins as those of the previous snapshot. */
  samePositions: boolean;
  support: AmountRange;
  resistance: AmountRange;
}

export function emptyMarks(): SnapshotMarks {
  return {
    start: 0,
    tier: 0,
    positions: 0,
    supportKey: 0,
    resistanceKey: 0,
    end: 0,
    samePositions: false,
    support: { from: 0, to: 0, at: new Int32Array(0) },
    resistance: { from: 0, to: 0, at: new Int32Array(0) },
  };
}

/** Sets which cells' amounts a range has, and makes `at` long enough for them. */
export function setRange(range: AmountRange, from: number, to: number): void {
  range.from = from;
  range.to = to;
  if (range.at.length < to - from) range.at = new Int32Array(2 * (to - from));
}

/** Follows a page's text while it is written. */
export interface TextListener {
  /** The text is complete up to the bracket that opens the snapshots. */
  begin(text: Uint8Array<ArrayBuffer>, headEnd: number): void;
  /** Returns the marks to fill for the next snapshot, whose cells are `from <= i < to`. */
  marksFor(from: number, to: number): SnapshotMarks;
  /** Snapshot `s` is written, and its marks are set. */
  follow(columns: SnapshotColumns, s: number): void;
}
