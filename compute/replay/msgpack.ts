/**
 * A replay page as MessagePack: the structure of the JSON reply, only in standard types (maps with string
 * keys, arrays, integers, floats, strings, booleans, nil) that every library reads.
 */
import { packMaps } from '../messagepack.js';
import { TIERS } from '../market.js';
import { pageBuffer } from './page-buffer.js';
import { indexKey, type Page, pageHead, type ReplayEnvelope } from './page.js';

/** A snapshot's array headers, names, time, tier and price. */
const MAX_SNAPSHOT_BYTES = 128;
/** uint16 index, int16 bin and two doubles, each after its type byte. */
const MAX_CELL_BYTES = 3 + 3 + 2 * 9;
const MAX_ARRAY_HEADER_BYTES = 5;

const FIXMAP = 0x80;
const FIXARRAY = 0x90;
const FIXSTR = 0xa0;
const FLOAT64 = 0xcb;
const UINT8 = 0xcc;
const UINT16 = 0xcd;
const UINT32 = 0xce;
const INT8 = 0xd0;
const INT16 = 0xd1;
const ARRAY16 = 0xdc;
const ARRAY32 = 0xdd;

/**
 * Encodes a page. Times, indexes and bins are integers; prices and amounts of snapshots are always
 * float64 (the double nearest to the cents), so typed readers see one type per column.
 *
 * @returns a view of the buffer that the next page overwrites
 */
export function writeMsgpack(page: Page, envelope: ReplayEnvelope | null): Uint8Array<ArrayBuffer> {
  const head = packMaps({ ...pageHead(page, envelope), snapshots: [] });
  const maxBytes =
    head.length +
    MAX_ARRAY_HEADER_BYTES +
    page.snapshotCount * MAX_SNAPSHOT_BYTES +
    page.rowCount * MAX_CELL_BYTES;
  const writer = new Writer(maxBytes);
  // The last byte is the header of an empty list of snapshots, which the real header replaces.
  writer.bytes(head.subarray(0, -1));
  writer.arrayHeader(page.snapshotCount);
  const key = indexKey(page);
  for (let s = 0; s < page.snapshotCount; s++) writeSnapshot(writer, page, s, key);
  return writer.finish();
}

function writeSnapshot(writer: Writer, page: Page, s: number, key: string | null): void {
  const from = page.cellOffsets[s];
  const to = page.cellOffsets[s + 1];
  writer.mapHeader(key === null ? 6 : 7);
  writer.text('t');
  writer.integer(page.t[s]);
  writer.text('tier');
  writer.text(TIERS[page.tier[s]]);
  writer.text('price_usd');
  writer.float(page.priceUsd[s]);
  if (key !== null && page.index !== null) {
    writer.text(key);
    writer.integers(page.index, from, to);
  }
  writer.text('bin');
  writer.integers(page.bin, from, to);
  writer.text('support_usd');
  writer.amounts(page.supportCents, from, to);
  writer.text('resistance_usd');
  writer.amounts(page.resistanceCents, from, to);
}

/** Writes MessagePack items to a buffer large enough for all of them. */
class Writer {
  private readonly out: Uint8Array<ArrayBuffer>;
  private readonly view: DataView;
  private at = 0;

  constructor(bytes: number) {
    const { out, view } = pageBuffer(bytes);
    this.out = out;
    this.view = view;
  }

  finish(): Uint8Array<ArrayBuffer> {
    return this.out.subarray(0, this.at);
  }

  bytes(bytes: Uint8Array): void {
    this.out.set(bytes, this.at);
    this.at += bytes.length;
  }

  /** A map of at most 15 entries. */
  mapHeader(entries: number): void {
    this.out[this.at++] = FIXMAP | entries;
  }

  arrayHeader(length: number): void {
    if (length < 16) this.out[this.at++] = FIXARRAY | length;
    else if (length < 0x1_0000) this.uint(ARRAY16, length, 2);
    else this.uint(ARRAY32, length, 4);
  }

  /** At most 31 ASCII characters. */
  text(text: string): void {
    this.out[this.at++] = FIXSTR | text.length;
    for (let i = 0; i < text.length; i++) this.out[this.at++] = text.charCodeAt(i);
  }

  float(value: number): void {
    this.out[this.at] = FLOAT64;
    this.view.setFloat64(this.at + 1, value);
    this.at += 9;
  }

  /** An integer in -32,768..2^32-1 in its shortest form. */
  integer(value: number): void {
    if (value >= -32 && value < 128) this.out[this.at++] = value & 0xff;
    else if (value >= 0x1_0000) this.uint(UINT32, value, 4);
    else if (value >= 256) this.uint(UINT16, value, 2);
    else if (value >= 0) this.uint(UINT8, value, 1);
    else if (value >= -128) this.uint(INT8, value & 0xff, 1);
    else this.uint(INT16, value & 0xffff, 2);
  }

  integers(values: Uint16Array | Int16Array, from: number, to: number): void {
    this.arrayHeader(to - from);
    for (let i = from; i < to; i++) this.integer(values[i]);
  }

  /** Cents as USD. */
  amounts(cents: Float64Array, from: number, to: number): void {
    this.arrayHeader(to - from);
    for (let i = from; i < to; i++) this.float(cents[i] / 100);
  }

  private uint(type: number, value: number, bytes: 1 | 2 | 4): void {
    this.out[this.at] = type;
    if (bytes === 1) this.out[this.at + 1] = value;
    else if (bytes === 2) this.view.setUint16(this.at + 1, value);
    else this.view.setUint32(this.at + 1, value);
    this.at += 1 + bytes;
  }
}
