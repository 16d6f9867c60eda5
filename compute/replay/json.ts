/** A replay page as JSON text, byte for byte what JSON.stringify writes of the same reply. */
import { TIERS } from '../market/market.js';
import {
  MAX_AMOUNT_BYTES,
  MAX_BIN_BYTES,
  MAX_INDEX_BYTES,
  writeAmounts,
  writeAscii,
  writeBins,
  writeIndexes,
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

/** Room for a page's text before it is cut to length; bounded by the limits of a page. */
let scratch = new Uint8Array(0);

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
  const head = encodeHead(page, envelope);
  const out = roomFor(head.length + PAGE_TAIL.length + snapshotBytes(page));
  out.set(head);
  let at = head.length;
  const key = indexKey(page);
  for (let s = 0; s < page.snapshotCount; s++) {
    if (s > 0) out[at++] = COMMA;
    at = writeSnapshot(out, at, page, s, key);
  }
  at = writeAscii(out, at, PAGE_TAIL);
  return out.slice(0, at);
}

/** What stands after a page's snapshots. */
export const PAGE_TAIL = ']}';

/** A page's text up to and with the bracket that opens the snapshots. */
export function encodeHead(page: PageSummary, envelope: ReplayEnvelope): Uint8Array {
  const text = Buffer.from(JSON.stringify({ ...pageHead(page, envelope), snapshots: [] }));
  return text.subarray(0, -PAGE_TAIL.length);
}

/**
 * Encodes snapshots one by one, with nothing between them: snapshot `s` is
 * `offsets[s] <= i < offsets[s + 1]` of the bytes.
 */
export function encodeSnapshots(columns: SnapshotColumns): {
  bytes: Uint8Array<ArrayBuffer>;
  offsets: Uint32Array;
} {
  const out = roomFor(snapshotBytes(columns));
  const offsets = new Uint32Array(columns.t.length + 1);
  const key = indexKey(columns);
  for (let s = 0; s < columns.t.length; s++) {
    offsets[s + 1] = writeSnapshot(out, offsets[s], columns, s, key);
  }
  return { bytes: out.slice(0, offsets[columns.t.length]), offsets };
}

function roomFor(bytes: number): Uint8Array<ArrayBuffer> {
  if (scratch.length < bytes) scratch = new Uint8Array(bytes);
  return scratch;
}

/** Bytes that the snapshots take at most, commas included. */
function snapshotBytes({ t, bin }: SnapshotColumns): number {
  return t.length * MAX_SNAPSHOT_BYTES + bin.length * MAX_CELL_BYTES;
}

function writeSnapshot(
  out: Uint8Array,
  at: number,
  page: SnapshotColumns,
  s: number,
  key: string | null,
): number {
  const from = page.cellOffsets[s];
  const to = page.cellOffsets[s + 1];
  at = writeAscii(out, at, '{"t":');
  at = writeTime(out, at, page.t[s]);
  at = writeAscii(out, at, `,"tier":"${TIERS[page.tier[s]]}","price_usd":`);
  at = writeAscii(out, at, String(page.priceUsd[s]));
  if (key !== null && page.index !== null) {
    at = writeAscii(out, at, `,"${key}":[`);
    at = closeArray(out, writeIndexes(out, at, page.index, from, to), to > from);
  }
  at = writeAscii(out, at, ',"bin":[');
  at = closeArray(out, writeBins(out, at, page.bin, from, to), to > from);
  at = writeAscii(out, at, ',"support_usd":[');
  at = closeArray(out, writeAmounts(out, at, page.supportCents, from, to), to > from);
  at = writeAscii(out, at, ',"resistance_usd":[');
  at = closeArray(out, writeAmounts(out, at, page.resistanceCents, from, to), to > from);
  return writeAscii(out, at, '}');
}

/** Puts the bracket in the place of the last item's comma, or after the opening one. */
function closeArray(out: Uint8Array, at: number, hasItems: boolean): number {
  if (hasItems) at--;
  out[at] = CLOSE_BRACKET;
  return at + 1;
}

/** Epoch seconds reach past 2^31. */
function writeTime(out: Uint8Array, at: number, t: number): number {
  return t < 0x8000_0000 ? writeUint(out, at, t) : writeAscii(out, at, String(t));
}
