/** A replay page as JSON text, byte for byte what JSON.stringify writes of the same reply. */
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
  writeMarkedAmounts,
  writeUint,
} from './digits.js';
import { indexKey, pageHead, type PageSummary, type ReplayEnvelope } from './envelope.js';
import type { Page } from './page.js';

/** A cell's four numbers, each with its comma. */
const MAX_CELL_BYTES = MAX_INDEX_BYTES + MAX_BIN_BYTES + 2 * MAX_AMOUNT_BYTES;
/** A snapshot's keys and brackets, time, tier and price (at most 24 characters). */
const MAX_SNAPSHOT_BYTES = 192;

const COMMA = 44;
const CLOSE_BRACKET = 93;

/** Snapshots in columns, as far as their text follows from them. */
export type SnapshotColumns = Pick<
  Page,
  't' | 'tier' | 'priceUsd' | 'cellOffsets' | 'index' | 'bin' | 'supportCents' | 'resistanceCents'
> & { query: Pick<Page['query'], 'group'> };

/**
 * Encodes a page. Amounts are exact cents in their shortest form; other numbers as JavaScript writes
 * them. Above 2^46 USD, where cents are finer than doubles, the text is still exact and so longer
 * than a double's shortest form.
 *
 * @returns bytes that own their whole ArrayBuffer
 */
export function encodeJson(page: Page, envelope: ReplayEnvelope): Uint8Array<ArrayBuffer> {
  return writeJson(page, envelope).slice();
}

/** The same, but as a view of the room that the next page is written to. */
export function writeJson(
  page: Page,
  envelope: ReplayEnvelope,
  follower: TextFollower | null = null,
): Uint8Array<ArrayBuffer> {
  const head = encodeHead(page, envelope);
  const room = textBuffer(head.length + PAGE_TAIL.length + snapshotBytes(page));
  const { out } = room;
  out.set(head);
  const writer = snapshotWriter(room, page, follower);
  follower?.begin(out, head.length);
  let at = head.length;
  for (let s = 0; s < page.snapshotCount; s++) {
    if (s > 0) out[at++] = COMMA;
    at = writer(at, s);
  }
  return out.subarray(0, writeAscii(out, at, PAGE_TAIL));
}

/** What stands after a page's snapshots. */
export const PAGE_TAIL = ']}';

/** A page's text up to and with the bracket that opens the snapshots. */
export function encodeHead(page: PageSummary, envelope: ReplayEnvelope): Uint8Array {
  const text = Buffer.from(JSON.stringify({ ...pageHead(page, envelope), snapshots: [] }));
  return text.subarray(0, -PAGE_TAIL.length);
}

/**
 * Encodes snapshots, each with a comma before it: snapshot `s` is `offsets[s] <= i < offsets[s + 1]`
 * of the bytes.
 *
 * @returns a view of the room that the next page is written to
 */
export function writeSnapshots(
  columns: SnapshotColumns,
  follower: TextFollower,
): { bytes: Uint8Array<ArrayBuffer>; offsets: Uint32Array } {
  const room = textBuffer(snapshotBytes(columns));
  const { out } = room;
  const offsets = new Uint32Array(columns.t.length + 1);
  const writer = snapshotWriter(room, columns, follower);
  follower.begin(out, 0);
  for (let s = 0; s < columns.t.length; s++) {
    out[offsets[s]] = COMMA;
    offsets[s + 1] = writer(offsets[s] + 1, s);
  }
  return { bytes: out.subarray(0, offsets[columns.t.length]), offsets };
}

/** Bytes that the snapshots take at most, commas included. */
function snapshotBytes({ t, bin }: SnapshotColumns): number {
  return t.length * MAX_SNAPSHOT_BYTES + bin.length * MAX_CELL_BYTES;
}

/** Writes snapshot `s` of the columns, one after the other, at a position. */
function snapshotWriter(
  room: TextBuffer,
  columns: SnapshotColumns,
  follower: TextFollower | null,
): (at: number, s: number) => number {
  const { out, view } = room;
  const { cellOffsets, supportCents, resistanceCents } = columns;
  const key = indexKey(columns);
  // Where the last snapshot's arrays of indexes and bins stand.
  let placesAt = 0;
  let placesEnd = 0;
  return (start, s) => {
    const from = cellOffsets[s];
    const to = cellOffsets[s + 1];
    const marks = follower === null ? null : follower.marksFor(from, to);
    let at = writeAscii(out, start, '{"t":');
    at = writeTime(room, at, columns.t[s]);
    const tierAt = at;
    at = writeAscii(out, at, `,"tier":"${TIERS[columns.tier[s]]}","price_usd":`);
    at = writeAscii(out, at, String(columns.priceUsd[s]));
    const startAt = at;
    const samePlaces = s > 0 && hasPlacesOfLast(columns, s);
    if (samePlaces) {
      out.copyWithin(at, placesAt, placesEnd);
      at += placesEnd - placesAt;
    } else at = writePlaces(room, at, columns, from, to, key);
    placesAt = startAt;
    placesEnd = at;
    at = writeAscii(out, at, ',"support_usd":[');
    at = writeColumn(room, at, supportCents, from, to, marks === null ? null : marks.support.at);
    at = closeArray(view, at, to > from);
    const resistanceAt = at;
    at = writeAscii(out, at, ',"resistance_usd":[');
    at = writeColumn(
      room,
      at,
      resistanceCents,
      from,
      to,
      marks === null ? null : marks.resistance.at,
    );
    at = closeArray(view, at, to > from);
    at = writeAscii(out, at, '}');
    if (follower === null || marks === null) return at;
    marks.start = start;
    marks.tier = tierAt;
    marks.places = placesAt;
    marks.supportKey = placesEnd;
    marks.resistanceKey = resistanceAt;
    marks.end = at;
    marks.samePlaces = samePlaces;
    follower.follow(columns, s);
    return at;
  };
}

function writeColumn(
  room: TextBuffer,
  at: number,
  cents: Float64Array,
  from: number,
  to: number,
  marks: Int32Array | null,
): number {
  return marks === null
    ? writeAmounts(room, at, cents, from, to)
    : writeMarkedAmounts(room, at, cents, from, to, marks);
}

/** The arrays that say which cells a snapshot holds: often the same ones for hours. */
function writePlaces(
  room: TextBuffer,
  at: number,
  { index, bin }: SnapshotColumns,
  from: number,
  to: number,
  key: string | null,
): number {
  const { out, view } = room;
  if (key !== null && index !== null) {
    at = writeAscii(out, at, `,"${key}":[`);
    at = closeArray(view, writeIndexes(room, at, index, from, to), to > from);
  }
  at = writeAscii(out, at, ',"bin":[');
  return closeArray(view, writeBins(room, at, bin, from, to), to > from);
}

/** Whether a snapshot's cells stand where those of the one before it do. */
function hasPlacesOfLast({ cellOffsets, index, bin }: SnapshotColumns, s: number): boolean {
  const from = cellOffsets[s];
  const count = cellOffsets[s + 1] - from;
  const last = cellOffsets[s - 1];
  if (from - last !== count) return false;
  for (let i = 0; i < count; i++) if (bin[last + i] !== bin[from + i]) return false;
  if (index === null) return true;
  for (let i = 0; i < count; i++) if (index[last + i] !== index[from + i]) return false;
  return true;
}

/** Puts the bracket in the place of the last item's comma, or after the opening one. */
function closeArray(view: DataView, at: number, hasItems: boolean): number {
  if (hasItems) at--;
  view.setUint8(at, CLOSE_BRACKET);
  return at + 1;
}

/** Epoch seconds reach past 2^31. */
function writeTime({ out, view }: TextBuffer, at: number, t: number): number {
  return t < 0x8000_0000 ? writeUint(view, at, t) : writeAscii(out, at, String(t));
}

// Where the parts of a page's text stand, for who follows its writing.

/** One snapshot's amounts of a column: those of cells `from <= i < to` of the page. */
export interface AmountRange {
  from: number;
  to: number;
  /** Where the amount of cell `from + k` begins in the text. */
  at: Int32Array;
}

/** Where the parts of a snapshot's text begin, and its amounts. */
export interface SnapshotMarks {
  start: number;
  /** The key of the tier. */
  tier: number;
  /** The arrays of indexes and bins, their keys included. */
  places: number;
  supportKey: number;
  resistanceKey: number;
  end: number;
  /** Whether the cells stand where those of the last snapshot do. */
  samePlaces: boolean;
  support: AmountRange;
  resistance: AmountRange;
}

export function emptyMarks(): SnapshotMarks {
  return {
    start: 0,
    tier: 0,
    places: 0,
    supportKey: 0,
    resistanceKey: 0,
    end: 0,
    samePlaces: false,
    support: { from: 0, to: 0, at: new Int32Array(0) },
    resistance: { from: 0, to: 0, at: new Int32Array(0) },
  };
}

/** Says which cells' amounts stand in a range, and makes room for where they begin. */
export function setRange(range: AmountRange, from: number, to: number): void {
  range.from = from;
  range.to = to;
  if (range.at.length < to - from) range.at = new Int32Array(2 * (to - from));
}

/** Is told where things stand while a page is written. */
export interface TextFollower {
  /** The text stands up to the bracket that opens the snapshots. */
  begin(text: Uint8Array<ArrayBuffer>, headEnd: number): void;
  /** What the marks of the next snapshot are put into, which has the cells `from <= i < to`. */
  marksFor(from: number, to: number): SnapshotMarks;
  /** Snapshot `s` stands, and its marks are set. */
  follow(columns: SnapshotColumns, s: number): void;
}
