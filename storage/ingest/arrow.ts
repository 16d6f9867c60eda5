/** Reads Arrow IPC files and streams, one record batch at a time. */
import * as zlib from 'node:zlib';
import { type FileHandle, open } from 'node:fs/promises';
import type { Data, DataType, RecordBatch, RecordBatchReader, Schema, Vector } from 'apache-arrow';
import {
  CELL_TEXTS,
  cellNumbers,
  cellTexts,
  TextCoder,
  type CellColumns,
  type CellNumber,
  type CellText,
  type CodedTexts,
} from '../../compute/ingest/cell-columns.js';
import { lz4FrameDecompress } from '../../compute/segment/lz4.js';
import { InputError } from '../errors.js';
import { checkColumns, rowsOfColumns, type ColumnsSeen, type NumberedRow } from './columns.js';
import { FIELDS, type WantedColumn } from './fields.js';
import { type ArrowFile, openViewed } from './arrow-views.js';
import { kindOf, readingOf, valueTypeOf } from './arrow-values.js';
import { arrow } from '../../compute/segment/arrow.js';

const { compressionRegistry, CompressionType, Precision } = arrow;

/** Rows of `cells` passed on at once: a large record batch is never in memory twice. */
const SLICE_ROWS = 32_768;
/** How many rows have their texts compared with the previous rows' at once. */
const BLOCK_ROWS = 64;
/** 2^32 */
const HIGH_WORD = 4_294_967_296;
/** Bytes of the view of a text. */
const VIEW_BYTES = 16;
const FILE_MAGIC = Buffer.from('ARROW1');
const END_OF_STREAM = Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);

compressionRegistry.set(CompressionType.LZ4_FRAME, { decode: lz4FrameDecompress });
const decodeZstd =
  'zstdDecompressSync' in zlib
    ? (zlib.zstdDecompressSync as (data: Uint8Array) => Uint8Array)
    : (): never => {
        const remedy = 'write them with LZ4 or uncompressed, or use Node.js 22.15 or later';
        throw new Error(
          `its buffers are compressed with zstd, which this Node.js lacks: ${remedy}`,
        );
      };
compressionRegistry.set(CompressionType.ZSTD, { decode: decodeZstd });

/**
 * Applies `read` to each record batch. The first bytes distinguish files from streams.
 * @throws InputError if the file is damaged, cut short, not an Arrow file or lacks a column
 */
async function* readArrowBatches<T>(
  file: string,
  wanted: readonly WantedColumn[],
  onColumns: ColumnsSeen | undefined,
  read: (batch: RecordBatch) => Iterable<T>,
): AsyncGenerator<T> {
  // With a handle instead of a stream, only the current batch is in memory.
  const handle = await open(file, 'r');
  try {
    await checkEnd(handle);
    const { schema, batches } = (await openViewed(file, handle)) ?? (await openKnown(handle));
    const found = columnsOf(schema);
    onColumns?.([...found.keys()]);
    checkColumns(file, found, wanted);
    for await (const batch of batches) {
      if (!holdsItsRows(batch)) throw new Error('it is damaged');
      yield* read(batch);
    }
  } catch (error) {
    if (error instanceof InputError) throw error;
    // Damage makes the reader fail anywhere; only errors that it throws deliberately explain the cause.
    const isDeliberate = error instanceof Error && error.constructor === Error;
    const reason = isDeliberate ? error.message.split('\n')[0] : 'it is damaged';
    throw new InputError(`${file}: not a readable Arrow file (${reason})`);
  } finally {
    await handle.close();
  }
}

/** Opens a file whose types the library has. */
async function openKnown(handle: FileHandle): Promise<ArrowFile> {
  const reader = await arrow.RecordBatchReader.from(handle);
  await reader.open();
  if (reader.schema === undefined) throw new Error('no schema');
  return { schema: reader.schema, batches: batchesOf(reader) };
}

/** Reads a file's batches by index: iteration would loop forever if a batch points at another message. */
async function* batchesOf(reader: RecordBatchReader): AsyncGenerator<RecordBatch> {
  if (!reader.isFile()) {
    yield* reader;
    return;
  }
  for (let i = 0; i < reader.numRecordBatches; i++) {
    const batch = await reader.readRecordBatch(i);
    if (batch === null) throw new Error('it is damaged');
    yield batch;
  }
}

/** Whether any column's buffers are as long as the batch states: otherwise the reader would invent the missing rows. */
function holdsItsRows({ data, numRows }: RecordBatch): boolean {
  return numRows <= Math.max(0, ...data.children.map(rowsHeld));
}

function rowsHeld({ type, stride, values, valueOffsets, children }: Data): number {
  if (arrow.DataType.isBool(type)) return 8 * (values as Uint8Array).length;
  if (valueOffsets) return (valueOffsets as Int32Array).length - 1;
  if (arrow.DataType.isStruct(type)) return Math.max(0, ...children.map(rowsHeld));
  return values ? Math.floor((values as Uint8Array).length / stride) : 0;
}

/**
 * A stream cut between two batches looks complete, so the end mark that writers add is required. Files have a footer
 * instead.
 */
async function checkEnd(handle: FileHandle): Promise<void> {
  const { size } = await handle.stat();
  const first = Buffer.alloc(FILE_MAGIC.length);
  const last = Buffer.alloc(END_OF_STREAM.length);
  await handle.read(first, 0, first.length, 0);
  if (first.equals(FILE_MAGIC)) return;
  await handle.read(last, 0, last.length, Math.max(0, size - last.length));
  // Before version 0.15 the mark was only its second half.
  if (!last.subarray(4).equals(END_OF_STREAM.subarray(4))) throw new Error('it is cut short');
}

/** A file's rows as objects with the wanted columns, like parquetRows(). */
export async function* arrowRows(
  file: string,
  wanted: readonly WantedColumn[],
  onColumns?: ColumnsSeen,
  only?: ReadonlySet<number>,
): AsyncGenerator<NumberedRow[]> {
  let first = 1;
  yield* readArrowBatches(file, wanted, onColumns, (batch) => {
    const from = first;
    first += batch.numRows;
    if (only === undefined) return [rowsOfBatch(batch, wanted, from)];
    return [...only]
      .filter((line) => line >= from && line < first)
      .map((line) => rowsOfBatch(batch.slice(line - from, line - from + 1), wanted, line));
  });
}

function rowsOfBatch(
  batch: RecordBatch,
  wanted: readonly WantedColumn[],
  firstLine: number,
): NumberedRow[] {
  const columns = wanted.flatMap((column) => {
    const vector = batch.getChild(column.name);
    return vector === null ? [] : [readingOf(column, vector)];
  });
  return rowsOfColumns(columns, batch.numRows).map((row, i) => ({ line: firstLine + i, row }));
}

function columnsOf(schema: Schema) {
  return new Map(
    schema.fields.map(({ name, type }) => [
      name,
      { kind: kindOf(type as DataType), type: String(type) },
    ]),
  );
}

/**
 * The rows of `cells` by column, from the vectors' buffers if their types allow it.
 * @throws InputError like readArrowBatches()
 */
export async function* arrowCells(
  file: string,
  onColumns?: ColumnsSeen,
): AsyncGenerator<CellColumns> {
  yield* readArrowBatches(file, FIELDS.cells, onColumns, cellsOf);
}

function* cellsOf(batch: RecordBatch): Generator<CellColumns> {
  for (let first = 0; first < batch.numRows; first += SLICE_ROWS) {
    const slice = batch.slice(first, first + SLICE_ROWS);
    const rows = slice.numRows;
    yield {
      ...cellNumbers((name) => numbersOf(name, slice.getChild(name), rows)),
      ...textsOf((name) => slice.getChild(name), rows),
    };
  }
}

function numbersOf(name: CellNumber, vector: Vector | null, rows: number): Float64Array {
  if (vector === null) return new Float64Array(rows).fill(NaN);
  const { type, values } = vector.data[0] as { type: DataType; values: unknown };
  if (kindOf(type) === 'time' || arrow.DataType.isDecimal(valueTypeOf(type))) {
    const reading = readingOf({ name, time: name === 't' ? 'whole' : undefined }, vector);
    return Float64Array.from(reading.values, (value) => plainNumber(reading.read(value)));
  }
  const nulls = vector.nullCount > 0;
  let numbers: Float64Array;
  if (values instanceof Float64Array && !nulls) numbers = values.subarray(0, rows);
  else if (isPlainNumber(type)) numbers = new Float64Array(values as ArrayLike<number>);
  else if (arrow.DataType.isInt(type))
    numbers = wideIntegers(values as BigInt64Array, type.isSigned);
  else return Float64Array.from({ length: rows }, (_, row) => plainNumber(vector.get(row)));
  for (let row = 0; nulls && row < rows; row++) if (!vector.isValid(row)) numbers[row] = NaN;
  return numbers.subarray(0, rows);
}

/** Whether a typed array holds the values as numbers, which it does not for half floats. */
function isPlainNumber(type: DataType): boolean {
  if (arrow.DataType.isInt(type)) return type.bitWidth < 64;
  return arrow.DataType.isFloat(type) && type.precision !== Precision.HALF;
}

/** 64-bit integers as doubles, without a BigInt each. */
function wideIntegers(values: BigInt64Array | BigUint64Array, isSigned: boolean): Float64Array {
  const { buffer, byteOffset, length } = values;
  const words = new Uint32Array(buffer, byteOffset, length * 2);
  const high = isSigned ? new Int32Array(buffer, byteOffset, length * 2) : words;
  const numbers = new Float64Array(length);
  for (let i = 0; i < length; i++) numbers[i] = high[2 * i + 1] * HIGH_WORD + words[2 * i];
  return numbers;
}

function plainNumber(value: unknown): number {
  if (typeof value === 'bigint') return Number(value);
  return typeof value === 'number' ? value : NaN;
}

/** The used fields of a column in one record batch. */
interface ColumnData {
  type: DataType;
  values: unknown;
  valueOffsets: Int32Array;
  /** One bit per row, from row `-offset` on; set if the value is not null. */
  nullBitmap: Uint8Array;
  offset: number;
  dictionary: Vector | undefined;
}

/** The text runs of the rows; `columnOf` returns null for a column that the file lacks. */
function textsOf(
  columnOf: (name: CellText) => Vector | null,
  rows: number,
): Pick<CellColumns, 'starts' | 'texts'> {
  const vectors = CELL_TEXTS.map(columnOf);
  // Bit `i` of a row is set if text `i` differs from the previous row's.
  const changed = new Uint8Array(rows).fill(0xff, 0, 1);
  vectors.forEach((vector, i) => {
    if (vector !== null) markChanges(vector, rows, changed, 1 << i);
  });
  const starts = new Uint32Array(rows);
  let runs = 0;
  for (let row = 0; row < rows; row++) if (changed[row] !== 0) starts[runs++] = row;
  const own = starts.slice(0, runs);
  const texts = cellTexts((_, i) => codedTexts(vectors[i], own, changed, 1 << i));
  return { starts: own, texts };
}

function codedTexts(
  vector: Vector | null,
  starts: Uint32Array,
  changed: Uint8Array,
  bit: number,
): CodedTexts {
  if (vector === null) return { codes: new Uint32Array(starts.length), values: [null] };
  const coder = new TextCoder();
  let code = 0;
  const codes = starts.map((row) => {
    if ((changed[row] & bit) !== 0) code = coder.code(vector.get(row));
    return code;
  });
  return { codes, values: coder.values };
}

/** Sets `bit` of each row, from the second on, whose value differs from the previous row's. */
function markChanges(vector: Vector, rows: number, changed: Uint8Array, bit: number): void {
  const data = vector.data[0] as unknown as ColumnData;
  if (arrow.DataType.isNull(data.type)) return;
  const hasNulls = vector.nullCount > 0;
  if (arrow.DataType.isDictionary(data.type))
    markCodes(data.values as Int32Array, rows, changed, bit);
  else if (arrow.DataType.isUtf8(data.type)) markBytes(data, rows, changed, bit);
  else if (arrow.DataType.isUtf8View(data.type)) markViews(data, rows, changed, bit);
  else for (let row = 1; row < rows; row++) changed[row] |= bit;
  if (hasNulls) markNulls(data, rows, changed, bit);
}

/** Marks each row that is null while the previous row is not, or the other way around. */
function markNulls(
  { nullBitmap, offset }: ColumnData,
  rows: number,
  changed: Uint8Array,
  bit: number,
) {
  let before = 0;
  for (let row = 0; row < rows; row++) {
    const at = offset + row;
    const valid = (nullBitmap[at >> 3] >> (at & 7)) & 1;
    if (row > 0 && valid !== before) changed[row] |= bit;
    before = valid;
  }
}

function markCodes(codes: ArrayLike<number>, rows: number, changed: Uint8Array, bit: number): void {
  for (let row = 1; row < rows; row++) if (codes[row] !== codes[row - 1]) changed[row] |= bit;
}

/** Marks changes of views, which have the length and the text, or where it is. The same text may be elsewhere, too. */
function markViews({ values }: ColumnData, rows: number, changed: Uint8Array, bit: number): void {
  const { buffer, byteOffset, length } = values as Uint8Array;
  const bytes = Buffer.from(buffer, byteOffset, length);
  for (let row = 1; row < rows; row++) {
    const at = row * VIEW_BYTES;
    const isSame = bytes.compare(bytes, at - VIEW_BYTES, at, at, at + VIEW_BYTES) === 0;
    if (!isSame) changed[row] |= bit;
  }
}

/** Marks changes of UTF-8 texts by their bytes. */
function markBytes(
  { values, valueOffsets: offsets }: ColumnData,
  rows: number,
  changed: Uint8Array,
  bit: number,
): void {
  const { buffer, byteOffset, length } = values as Uint8Array;
  const bytes = Buffer.from(buffer, byteOffset, length);
  for (let row = 1; row < rows; row += BLOCK_ROWS) {
    const end = Math.min(rows, row + BLOCK_ROWS);
    if (isOneText(bytes, offsets, row - 1, end)) continue;
    for (let i = row; i < end; i++) if (!isRepeated(bytes, offsets, i)) changed[i] |= bit;
  }
}

/**
 * Whether rows `from <= i < to` have the same text: all have the same length, and the bytes repeat with that period.
 */
function isOneText(bytes: Buffer, offsets: Int32Array, from: number, to: number): boolean {
  const start = offsets[from];
  const length = offsets[from + 1] - start;
  for (let row = from + 1; row < to; row++) {
    if (offsets[row + 1] - offsets[row] !== length) return false;
  }
  const end = offsets[to];
  return bytes.compare(bytes, start, end - length, start + length, end) === 0;
}

/** Whether a row's text equals the previous row's. */
function isRepeated(bytes: Uint8Array, offsets: Int32Array, row: number): boolean {
  const start = offsets[row];
  const before = offsets[row - 1];
  const length = offsets[row + 1] - start;
  if (start - before !== length) return false;
  for (let i = 0; i < length; i++) if (bytes[start + i] !== bytes[before + i]) return false;
  return true;
}
