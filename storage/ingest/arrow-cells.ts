/** Flat cells of Arrow files, taken from the vectors' buffers where their types allow it. */
import { DataType, Precision, type Vector } from 'apache-arrow';
import {
  CELL_COLUMNS,
  cellBatch,
  missingNumbers,
  nullCodes,
  type CellBatch,
  type TextCodes,
} from './cell-batch.js';
import { readArrowBatches } from './arrow-file.js';
import { RepeatedTexts } from './repeated-texts.js';

/** A record batch is handed on in slices, so that a large one is never held twice. */
const SLICE_ROWS = 32_768;
/** 2^32 */
const HIGH_WORD = 4_294_967_296;

/** @throws InputError as readArrowBatches does */
export async function* arrowCells(file: string): AsyncGenerator<CellBatch> {
  for await (const batch of readArrowBatches(file, CELL_COLUMNS)) {
    for (let first = 0; first < batch.numRows; first += SLICE_ROWS) {
      const slice = batch.slice(first, first + SLICE_ROWS);
      const rows = slice.numRows;
      yield cellBatch(
        rows,
        (name) => numbersOf(slice.getChild(name), rows),
        (name) => textsOf(slice.getChild(name), rows),
      );
    }
  }
}

/** What is read of a column of one record batch. */
interface ColumnData {
  type: DataType;
  values: unknown;
  valueOffsets: Int32Array;
  dictionary: Vector | undefined;
}

const dataOf = (vector: Vector): ColumnData => vector.data[0] as unknown as ColumnData;

function numbersOf(vector: Vector | null, rows: number): Float64Array {
  if (vector === null) return missingNumbers(rows);
  const { type, values } = dataOf(vector);
  let numbers: Float64Array;
  if (isPlainNumber(type)) numbers = Float64Array.from(values as ArrayLike<number>);
  else if (DataType.isInt(type)) numbers = wideIntegers(values as BigInt64Array, type.isSigned);
  else return Float64Array.from({ length: rows }, (_, row) => plainNumber(vector.get(row)));
  const nulls = vector.nullCount > 0;
  for (let row = 0; nulls && row < rows; row++) if (!vector.isValid(row)) numbers[row] = NaN;
  return numbers;
}

/** Whether JavaScript has an array of the very values: half floats it has not. */
function isPlainNumber(type: DataType): boolean {
  if (DataType.isInt(type)) return type.bitWidth < 64;
  return DataType.isFloat(type) && type.precision !== Precision.HALF;
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

function textsOf(vector: Vector | null, rows: number): TextCodes {
  if (vector === null) return nullCodes(rows);
  const data = dataOf(vector);
  if (DataType.isNull(data.type)) return nullCodes(rows);
  if (DataType.isDictionary(data.type)) return dictionaryCodes(vector, data, rows);
  const isText = DataType.isUtf8(data.type);
  const changes = isText && vector.nullCount === 0 ? bytesChange(data) : () => true;
  return new RepeatedTexts().read(rows, changes, (row) => vector.get(row) as unknown);
}

/** The dictionary's own codes; one more stands for null. */
function dictionaryCodes(vector: Vector, data: ColumnData, rows: number): TextCodes {
  const indexes = data.values as ArrayLike<number>;
  const entries = data.dictionary as Vector;
  const value = (code: number): unknown => (code < entries.length ? entries.get(code) : null);
  const size = entries.length + 1;
  if (vector.nullCount === 0) return { codes: indexes, size, value };
  const codes = new Uint32Array(rows).fill(entries.length);
  for (let row = 0; row < rows; row++) if (vector.isValid(row)) codes[row] = indexes[row];
  return { codes, size, value };
}

/** Whether a text without nulls differs from the one before it, told from its bytes. */
function bytesChange({ values, valueOffsets }: ColumnData): (row: number) => boolean {
  const bytes = values as Uint8Array;
  return (row) => {
    if (row === 0) return true;
    const start = valueOffsets[row];
    const before = valueOffsets[row - 1];
    const length = valueOffsets[row + 1] - start;
    if (start - before !== length) return true;
    for (let i = 0; i < length; i++) if (bytes[start + i] !== bytes[before + i]) return true;
    return false;
  };
}
