/** Flat cells of Arrow files, taken from the vectors' buffers where their types allow it. */
import { DataType, Precision, type Vector } from 'apache-arrow';
import { arrowTexts } from './arrow-texts.js';
import { CELL_COLUMNS, cellNumbers, missingNumbers, type CellBatch } from './cell-batch.js';
import { readArrowBatches } from './arrow-file.js';

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
      yield {
        rows,
        numbers: cellNumbers((name) => numbersOf(slice.getChild(name), rows)),
        ...arrowTexts((name) => slice.getChild(name), rows),
      };
    }
  }
}

function numbersOf(vector: Vector | null, rows: number): Float64Array {
  if (vector === null) return missingNumbers(rows);
  const { type, values } = vector.data[0] as { type: DataType; values: unknown };
  const nulls = vector.nullCount > 0;
  let numbers: Float64Array;
  if (values instanceof Float64Array && !nulls) numbers = values.subarray(0, rows);
  else if (isPlainNumber(type)) numbers = new Float64Array(values as ArrayLike<number>);
  else if (DataType.isInt(type)) numbers = wideIntegers(values as BigInt64Array, type.isSigned);
  else return Float64Array.from({ length: rows }, (_, row) => plainNumber(vector.get(row)));
  for (let row = 0; nulls && row < rows; row++) if (!vector.isValid(row)) numbers[row] = NaN;
  return numbers.subarray(0, rows);
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
