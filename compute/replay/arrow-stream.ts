/**
 * An Arrow IPC stream of one record batch, laid out before its columns are written where they belong. The library would
 * copy each column twice.
 */
import type { Data, DataType, Dictionary, Field, Schema, Utf8, Vector } from 'apache-arrow';
import { arrow } from '../segment/arrow.js';
import type { ColumnWriter } from './column-writer.js';
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
  /**
   * Writes all values.
   * @param to where in the text they begin: a multiple of 8
   * @param validity where its bits begin, one per row, set if the row has a value; null without nulls
   */
  write(writer: ColumnWriter, to: number, validity: number | null): void;
}

const ALIGNMENT = 8;
const CONTINUATION = 0xffff_ffff;
/** The continuation marker and the length of a message's metadata. */
const PREFIX_BYTES = 8;
/** After the columns: a continuation marker and a length of 0. */
const END_BYTES = 8;

const aligned = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

/** A stream that is not written yet. Places are counted from its first byte. */
export interface ArrowStream {
  /** Its length. */
  bytes: number;
  /** Everything before the columns. */
  head: Uint8Array;
  columns: readonly StreamColumn[];
  rows: number;
  /** Where each column's validity bits and values begin, and where its values end. */
  places: readonly { validity: number; values: number; end: number }[];
}

/** Lays out a stream. @param metadata of the schema */
export function layOutStream(
  columns: readonly StreamColumn[],
  rows: number,
  metadata: Map<string, string>,
): ArrowStream {
  const lengths = columns.flatMap(({ nullCount, bytesPerRow }) => [
    nullCount === 0 ? 0 : aligned(Math.ceil(rows / 8)),
    aligned(rows * bytesPerRow),
  ]);
  const head = Buffer.concat([streamHead(columns, metadata), batchMessage(columns, rows, lengths)]);
  let at = head.length;
  const places = columns.map(({ bytesPerRow }, i) => {
    const validity = at;
    const values = validity + lengths[2 * i];
    at = values + lengths[2 * i + 1];
    return { validity, values, end: values + rows * bytesPerRow };
  });
  return { bytes: at + END_BYTES, head, columns, rows, places };
}

/** Writes a stream. @param text all of it */
export function writeStream(
  { head, columns, places, rows, bytes }: ArrowStream,
  writer: ColumnWriter,
  text: Uint8Array,
): void {
  text.set(head);
  columns.forEach((column, i) => {
    const { validity, values, end } = places[i];
    const next = i + 1 < places.length ? places[i + 1].validity : bytes - END_BYTES;
    text.fill(0, validity + Math.ceil(rows / 8), values);
    column.write(writer, values, validity === values ? null : validity);
    text.fill(0, end, next);
  });
  text.fill(255, bytes - END_BYTES, bytes - END_BYTES / 2);
  text.fill(0, bytes - END_BYTES / 2, bytes);
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

function batchMessage(
  columns: readonly StreamColumn[],
  rows: number,
  lengths: readonly number[],
): Uint8Array {
  const bytes = batchMetadataBytes(columns.length);
  const message = new Uint8Array(PREFIX_BYTES + bytes);
  message.set(BATCH_METADATA, PREFIX_BYTES);
  const view = new DataView(message.buffer);
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
  return message;
}
