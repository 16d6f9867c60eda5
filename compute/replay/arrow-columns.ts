/** Columns of Arrow tables of cells: dictionaries, times, and record batches from them. */
import type {
  Data,
  DataType,
  Int8,
  RecordBatch,
  Schema,
  Dictionary,
  Int32,
  Utf8,
  Vector,
} from 'apache-arrow';
import { arrow } from '../segment/arrow.js';

const { makeData, Struct, TimestampMillisecond } = arrow;

/** Type of the column `timestamp`. */
export const UTC_MILLISECONDS = new TimestampMillisecond('UTC');

/** A column of numbers or times, without nulls. */
export function plainData(type: DataType, data: ArrayBufferView & ArrayLike<unknown>): Data {
  return makeData({ type, length: data.length, nullCount: 0, data } as never);
}

/** A column of doubles, with nulls. */
export function nullableDoubles(values: readonly (number | null)[]): Data {
  const nullBitmap = new Uint8Array((values.length + 7) >> 3);
  let nullCount = 0;
  values.forEach((value, i) => {
    if (value === null) nullCount++;
    else nullBitmap[i >> 3] |= 1 << (i & 7);
  });
  const data = Float64Array.from(values, (value) => value ?? 0);
  const type = new arrow.Float64();
  return makeData({ type, length: values.length, nullCount, nullBitmap, data } as never);
}

/**
 * A type of texts by dictionary.
 * @param id distinguishes the dictionaries of a table; the library would count ids up, and the same table would
 *   get different bytes each time
 */
export function dictionaryType(id: number, indexes: Int8 | Int32 = new arrow.Int32()): Dictionary {
  return new arrow.Dictionary(new arrow.Utf8(), indexes, id, false);
}

/** A column of texts by dictionary. @param codes indexes into the dictionary; negative: null */
export function dictionaryData(
  type: Dictionary,
  codes: Int8Array | Int32Array,
  dictionary: Vector<Utf8>,
): Data {
  const { length } = codes;
  let nullCount = 0;
  for (let i = 0; i < length; i++) nullCount += codes[i] >>> 31;
  if (nullCount === 0) {
    return makeData({ type, length, nullCount, data: codes, dictionary } as never);
  }
  // Bit i, counted from the lowest of each byte, is set if row i has a value.
  const nullBitmap = new Uint8Array((length + 7) >> 3);
  const data = codes.slice();
  for (let from = 0; from < length; from += 8) {
    const end = Math.min(from + 8, length);
    let bits = 0;
    for (let i = from; i < end; i++) {
      const isNull = codes[i] >>> 31;
      bits |= (1 - isNull) << (i - from);
      data[i] = codes[i] & (isNull - 1);
    }
    nullBitmap[from >> 3] = bits;
  }
  return makeData({ type, length, nullCount, nullBitmap, data, dictionary } as never);
}

/** Each text's index among the distinct ones, in order of first appearance; -1 for null. */
export function distinctTexts(texts: readonly (string | null)[]): {
  values: string[];
  codes: Int32Array;
} {
  const codeOf = new Map<string, number>();
  const codes = Int32Array.from(texts, (text) => {
    if (text === null) return -1;
    const code = codeOf.get(text) ?? codeOf.size;
    codeOf.set(text, code);
    return code;
  });
  return { values: [...codeOf.keys()], codes };
}

export function utf8Vector(values: readonly string[]): Vector<Utf8> {
  const texts = values.map((value) => Buffer.from(value));
  const valueOffsets = new Int32Array(texts.length + 1);
  texts.forEach((text, i) => (valueOffsets[i + 1] = valueOffsets[i] + text.length));
  const data = new Uint8Array(Buffer.concat(texts));
  return new arrow.Vector([
    makeData({ type: new arrow.Utf8(), length: texts.length, nullCount: 0, valueOffsets, data }),
  ]);
}

export function recordBatch(schema: Schema, length: number, children: Data[]): RecordBatch {
  const rows = makeData({ type: new Struct(schema.fields), length, nullCount: 0, children });
  return new arrow.RecordBatch(schema, rows as never);
}
