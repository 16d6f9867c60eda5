/** The types of Arrow columns, and their values as rows have them. */
import type { Data, DataType, Date_, Field, Timestamp, Vector } from 'apache-arrow';
import { arrow } from '../../compute/segment/arrow.js';
import { DAY_S } from '../../compute/time.js';
import {
  type ColumnKind,
  type ColumnValues,
  plainValue,
  readTimeNumber,
  readTimestamp,
} from './columns.js';
import type { WantedColumn } from './fields.js';
import { timeNumber } from './time-units.js';

/** Bits per word of a decimal. */
const WORD_BITS = 32;

/** The type of a column's values, also if they are in a dictionary. */
export function valueTypeOf(type: DataType): DataType {
  return arrow.DataType.isDictionary(type) ? (type.dictionary as DataType) : type;
}

export function kindOf(column: DataType): ColumnKind {
  const type = valueTypeOf(column);
  if (arrow.DataType.isNull(type)) return 'null';
  if (arrow.DataType.isInt(type) || arrow.DataType.isFloat(type)) return 'number';
  if (arrow.DataType.isDecimal(type)) return 'number';
  if (arrow.DataType.isBool(type)) return 'boolean';
  if (arrow.DataType.isTimestamp(type) || arrow.DataType.isDate(type)) return 'time';
  return arrow.DataType.isUtf8(type) || isLongText(type) ? 'text' : 'other';
}

const isLongText = (type: DataType): boolean =>
  arrow.DataType.isLargeUtf8(type) || arrow.DataType.isUtf8View(type);

/** A column's values by row, and how each is read. */
export function readingOf(
  { name, time }: Pick<WantedColumn, 'name'> & { time?: WantedColumn['time'] | undefined },
  vector: Vector,
): ColumnValues {
  const type = valueTypeOf(vector.type as DataType);
  if (time !== undefined && kindOf(type) === 'time') {
    const read = readTimestamp(time, perSecondOf(type));
    return { name, values: storedOf(vector), read };
  }
  if (!arrow.DataType.isDecimal(type)) {
    const values = Array.from({ length: vector.length }, (_, row) =>
      jsonValue(vector.get(row), type),
    );
    return { name, values, read: time === undefined ? plainValue : readTimeNumber };
  }
  const read = time === undefined ? Number : timeNumber;
  const values = Array.from(vector as Iterable<Uint32Array | null>, (words) =>
    words === null ? null : read(decimalText(words, type.scale)),
  );
  return { name, values, read: (value: unknown) => value };
}

/** A decimal as text. */
function decimalText(words: Uint32Array, scale: number): string {
  const whole = words.reduceRight((sum, word) => (sum << BigInt(WORD_BITS)) | BigInt(word), 0n);
  return `${BigInt.asIntN(WORD_BITS * words.length, whole)}e${-scale}`;
}

/** Timestamps and dates as the file stores them: the library rounds them to milliseconds. */
function storedOf(vector: Vector): (bigint | number | null)[] {
  if (arrow.DataType.isDictionary(vector.type)) {
    const [{ values: codes, dictionary }] = vector.data as Data[];
    const stored = storedOf(dictionary!);
    return Array.from({ length: vector.length }, (_, row) =>
      vector.isValid(row) ? stored[(codes as Int32Array)[row]] : null,
    );
  }
  const { type, data } = vector as Vector<Date_ | Timestamp>;
  const isDays = arrow.DataType.isDate(type) && type.unit === arrow.DateUnit.DAY;
  const stored = data.flatMap(({ values, length }) =>
    Array.from<bigint | number>(values.subarray(0, length)),
  );
  return stored.map((value, row) => {
    if (!vector.isValid(row)) return null;
    return isDays ? Number(value) * DAY_S : value;
  });
}

/** Units of a timestamp or date per second, as storedOf() returns them. */
function perSecondOf(type: DataType): number {
  const { DateUnit, TimeUnit } = arrow;
  if (arrow.DataType.isDate(type)) return type.unit === DateUnit.DAY ? 1 : 1e3;
  switch ((type as Timestamp).unit) {
    case TimeUnit.SECOND:
      return 1;
    case TimeUnit.MILLISECOND:
      return 1e3;
    case TimeUnit.MICROSECOND:
      return 1e6;
    case TimeUnit.NANOSECOND:
      return 1e9;
  }
}

/** A value as in JSON: lists as arrays, structs as objects, decimals as the nearest doubles. */
function jsonValue(value: unknown, type: DataType): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  const own = valueTypeOf(type);
  if (arrow.DataType.isDecimal(own)) return Number(decimalText(value as Uint32Array, own.scale));
  const children = own.children as Field[] | null;
  if (Symbol.iterator in value && !isStructRow(value)) {
    const inner = children?.[0]?.type as DataType;
    return Array.from(value as Iterable<unknown>, (entry) => jsonValue(entry, inner));
  }
  const entries = Object.entries((value as { toJSON(): object }).toJSON());
  const typeOf = (name: string) => children?.find((field) => field.name === name)?.type as DataType;
  return Object.fromEntries(entries.map(([name, inner]) => [name, jsonValue(inner, typeOf(name))]));
}

/** Rows of structs iterate over [name, value] pairs; vectors over their values. */
function isStructRow(value: object): boolean {
  return 'toJSON' in value && !('length' in value) && !ArrayBuffer.isView(value);
}
