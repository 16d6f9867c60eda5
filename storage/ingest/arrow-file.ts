/** Reads Arrow IPC files and streams, a record batch at a time. */
import { open, type FileHandle } from 'node:fs/promises';
import * as zlib from 'node:zlib';
import {
  CompressionType,
  DataType,
  RecordBatchReader,
  compressionRegistry,
  type RecordBatch,
  type Schema,
  type Vector,
} from 'apache-arrow';
import { lz4FrameDecompress } from '../../compute/segment/lz4.js';
import { InputError } from '../errors.js';
import { checkColumns, rowsOfColumns, type ColumnKind, type WantedColumn } from './columns.js';

const FILE_MAGIC = Buffer.from('ARROW1');
const END_OF_STREAM = Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);

compressionRegistry.set(CompressionType.LZ4_FRAME, { decode: lz4FrameDecompress });
if ('zstdDecompressSync' in zlib) {
  const decode = zlib.zstdDecompressSync as (data: Uint8Array) => Uint8Array;
  compressionRegistry.set(CompressionType.ZSTD, { decode });
}

/**
 * The record batches of a file (either form, told apart by its first bytes), in order.
 * @throws InputError where the file is damaged, cut short or no Arrow file, or lacks a column
 */
export async function* readArrowBatches(
  file: string,
  wanted: readonly WantedColumn[],
): AsyncGenerator<RecordBatch> {
  // A handle, not a stream: of a file only the batch at hand is then held in memory.
  const handle = await open(file, 'r');
  try {
    await checkEnd(handle);
    const reader = await RecordBatchReader.from(handle);
    await reader.open();
    if (reader.schema === undefined) throw new Error('no schema');
    checkColumns(file, columnsOf(reader.schema), wanted);
    for await (const batch of reader) yield batch;
  } catch (error) {
    if (error instanceof InputError) throw error;
    const reason = error instanceof Error ? error.message.split('\n')[0] : 'unreadable';
    throw new InputError(`${file}: not a readable Arrow file (${reason})`);
  } finally {
    await handle.close();
  }
}

/**
 * A stream may end anywhere between two batches, so that one cut there could not be told from a
 * whole one: the mark that writers end it with has to be there. The other form has a footer.
 */
async function checkEnd(handle: FileHandle): Promise<void> {
  const { size } = await handle.stat();
  const first = Buffer.alloc(FILE_MAGIC.length);
  const last = Buffer.alloc(END_OF_STREAM.length);
  await handle.read(first, 0, first.length, 0);
  if (first.equals(FILE_MAGIC)) return;
  await handle.read(last, 0, last.length, Math.max(0, size - last.length));
  // Before version 0.15 the mark was its second half alone.
  if (!last.subarray(4).equals(END_OF_STREAM.subarray(4))) throw new Error('it is cut short');
}

/** A file's rows as objects of the wanted columns, as parquetRows has them. */
export async function* arrowRows(
  file: string,
  wanted: readonly WantedColumn[],
): AsyncGenerator<Record<string, unknown>[]> {
  for await (const batch of readArrowBatches(file, wanted)) {
    const columns = wanted.flatMap(({ name }) => {
      const vector = batch.getChild(name);
      return vector === null ? [] : [{ name, values: valuesOf(vector) }];
    });
    yield rowsOfColumns(columns, batch.numRows);
  }
}

function valuesOf(vector: Vector): unknown[] {
  return Array.from({ length: vector.length }, (_, row) => plainValue(vector.get(row) as unknown));
}

/** A value of a vector as JSON would have it: lists as arrays, structs as objects. */
function plainValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (Symbol.iterator in value && !isStructRow(value)) {
    return Array.from(value as Iterable<unknown>, plainValue);
  }
  const entries = Object.entries((value as { toJSON(): object }).toJSON());
  return Object.fromEntries(entries.map(([name, inner]) => [name, plainValue(inner)]));
}

/** Rows of structs iterate over [name, value] pairs; vectors over their values. */
function isStructRow(value: object): boolean {
  return 'toJSON' in value && !('length' in value) && !ArrayBuffer.isView(value);
}

function columnsOf(schema: Schema) {
  return new Map(
    schema.fields.map(({ name, type }) => [
      name,
      { kind: kindOf(type as DataType), type: String(type) },
    ]),
  );
}

function kindOf(type: DataType): ColumnKind {
  if (DataType.isDictionary(type)) return kindOf(type.dictionary as DataType);
  if (DataType.isNull(type)) return 'null';
  if (DataType.isInt(type) || DataType.isFloat(type)) return 'number';
  if (DataType.isBool(type)) return 'boolean';
  return DataType.isUtf8(type) || DataType.isLargeUtf8(type) ? 'text' : 'other';
}
