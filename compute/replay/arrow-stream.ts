/**
 * Writes an Arrow IPC stream of one record batch in place: it allocates memory once and writes the columns' values
 * where they belong. The library would copy each column twice.
 */
import type { Data, DataType, Dictionary, Field, Schema, Utf8, Vector } from 'apache-arrow';
import { arrow } from '../segment/arrow.js';
import { messageAt, RECORD_BATCH } from '../segment/ipc.js';
import { recordBatch } from './arrow-columns.js';

/** A column of fixed width. */
export interface StreamColumn {
  name: string;
  type: DataType;
  bytesPerRow: number;
  /** Whether it may hold nulls, and how many it holds. */
  nullable: boolean;
  nullCount: number;
  /** The dictionary of a column of texts. */
  dictionary?: Vector<Utf8>;
  /** Writes all values. @param validity cleared bits, one per row, to be set if the row has a value; null without nulls */
  fill(values: Place, validity: Uint8Array | null): void;
}

/** Where a column's values are written: at a multiple of 8 of the buffer. */
export interface Place {
  buffer: ArrayBuffer;
  byteOffset: number;
}

const ALIGNMENT = 8;
const CONTINUATION = 0xffff_ffff;
/** The continuation marker and the length of a message's metadata. */
const PREFIX_BYTES = 8;
/** A continuation marker and a length of 0. */
const END_BYTES = 8;

/** Memory with arbitrary contents that fills its ArrayBuffer. */
export const ownedBytes = (bytes: number): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.allocUnsafeSlow(bytes).buffer);

const aligned = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

/**
 * Writes a stream.
 * @param metadata of the schema
 * @param allocate returns memory at a multiple of 8, of exactly this length, with any contents
 */
export function writeArrowStream(
  columns: readonly StreamColumn[],
  rows: number,
  metadata: Map<string, string>,
  allocate: typeof ownedBytes,
): Uint8Array<ArrayBuffer> {
  const head = streamHead(columns, metadata);
  const lengths = columns.flatMap(({ nullCount, bytesPerRow }) => [
    nullCount === 0 ? 0 : aligned(Math.ceil(rows / 8)),
    aligned(rows * bytesPerRow),
  ]);
  const bodyBytes = lengths.reduce((sum, bytes) => sum + bytes, 0);
  const batchBytes = PREFIX_BYTES + batchMetadataBytes(columns.length);
  const stream = allocate(head.length + batchBytes + bodyBytes + END_BYTES);
  stream.set(head);
  writeBatchMessage(stream, head.length, columns, rows, lengths);
  const { buffer, byteOffset } = stream;
  let at = head.length + batchBytes;
  columns.forEach((column, i) => {
    const validity = stream.subarray(at, (at += lengths[2 * i])).fill(0);
    const end = at + lengths[2 * i + 1];
    stream.fill(0, at + rows * column.bytesPerRow, end);
    column.fill({ buffer, byteOffset: byteOffset + at }, column.nullCount === 0 ? null : validity);
    at = end;
  });
  const view = new DataView(buffer, byteOffset + at);
  view.setUint32(0, CONTINUATION, true);
  view.setUint32(4, 0, true);
  return stream;
}

/** The stream up to its record batch: the schema and the dictionaries, as the library writes them. */
function streamHead(columns: readonly StreamColumn[], metadata: Map<string, string>): Uint8Array {
  const schema: Schema = new arrow.Schema(
    columns.map(({ name, type, nullable }): Field => new arrow.Field(name, type, nullable)),
    metadata,
  );
  const batch = recordBatch(schema, 0, columns.map(emptyData));
  const stream = arrow.tableToIPC(new arrow.Table([batch]), 'stream');
  const view = new DataView(stream.buffer, stream.byteOffset, stream.byteLength);
  for (let at = 0; ;) {
    const message = messageAt(view, at);
    if (message === null || message.kind === RECORD_BATCH) return stream.subarray(0, at);
    at = message.end;
  }
}

function emptyData({ type, dictionary }: StreamColumn): Data {
  const { ArrayType } = (dictionary === undefined ? type : (type as Dictionary).indices) as {
    ArrayType: new (length: number) => unknown;
  };
  const empty = { length: 0, nullCount: 0, data: new ArrayType(0) };
  return arrow.makeData({ type, ...empty, ...(dictionary && { dictionary }) } as never);
}

/**
 * The metadata of a record batch up to the number of its buffers: a FlatBuffers Message that contains a RecordBatch,
 * laid out as the library does, with zeros for the lengths. The constants below locate what differs between batches.
 */
const BATCH_METADATA = Buffer.from(
  '14000000' + // where the Message is
    '00000000' +
    '0c00160014000f0010000400' + // where its fields are: version, kind, header, length of the body
    '0c000000' +
    '0000000000000000' + // length of the body
    '00000003' + // kind: a record batch
    '10000000' + // where the RecordBatch is
    '0400' + // version 5
    '0a0018000c0008000400' + // where its fields are: rows, nodes, buffers
    '0a000000' +
    '14000000' + // where the buffers are
    '00000000' + // where the nodes are
    '0000000000000000' + // rows
    '00000000' +
    '00000000', // number of buffers
  'hex',
);
const BODY_BYTES_AT = 24;
const NODES_AT = 60;
const ROWS_AT = 64;
const BUFFER_COUNT_AT = 76;
/** Position and length of a buffer, or rows and nulls of a node, as 64-bit numbers. */
const PAIR_BYTES = 16;
const BUFFERS_PER_COLUMN = 2;

/** Includes the number of nodes, and the padding before it. */
function batchMetadataBytes(columns: number): number {
  return BATCH_METADATA.length + (BUFFERS_PER_COLUMN + 1) * columns * PAIR_BYTES + ALIGNMENT;
}

function writeBatchMessage(
  stream: Uint8Array,
  at: number,
  columns: readonly StreamColumn[],
  rows: number,
  lengths: readonly number[],
): void {
  const bytes = batchMetadataBytes(columns.length);
  stream.fill(0, at, at + PREFIX_BYTES + bytes);
  stream.set(BATCH_METADATA, at + PREFIX_BYTES);
  const view = new DataView(stream.buffer, stream.byteOffset + at, PREFIX_BYTES + bytes);
  view.setUint32(0, CONTINUATION, true);
  view.setUint32(4, bytes, true);
  const word = (place: number, value: number) => {
    view.setUint32(PREFIX_BYTES + place, value, true);
  };
  const bodyBytes = lengths.reduce((sum, length) => sum + length, 0);
  const nodeCountAt = BATCH_METADATA.length + lengths.length * PAIR_BYTES + 4;
  word(BODY_BYTES_AT, bodyBytes);
  word(NODES_AT, nodeCountAt - NODES_AT);
  word(ROWS_AT, rows);
  word(BUFFER_COUNT_AT, lengths.length);
  let start = 0;
  lengths.forEach((length, i) => {
    word(BATCH_METADATA.length + i * PAIR_BYTES, start);
    word(BATCH_METADATA.length + i * PAIR_BYTES + 8, length);
    start += length;
  });
  word(nodeCountAt, columns.length);
  columns.forEach(({ nullCount }, i) => {
    word(nodeCountAt + 4 + i * PAIR_BYTES, rows);
    word(nodeCountAt + 4 + i * PAIR_BYTES + 8, nullCount);
  });
}
