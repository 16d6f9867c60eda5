/** The columns of a file with a schema (Parquet, Arrow, a CSV header), and the rows in them. */
import type { Fault } from '../../compute/ingest/fields.js';
import type { WantedColumn } from './fields.js';
import { delimiterIn, listed, missingColumn, wideBook } from './hints.js';
import { refusal } from './prepared.js';
import { timeNumber } from './time-units.js';

/** A row as parsed, with its line (NDJSON, CSV) or its number from 1 (Parquet, Arrow). */
export interface NumberedRow {
  line: number;
  row: unknown;
}

/** `null`: only nulls; `time`: timestamps and dates; `other`: lists, structs, bytes and the like. */
export type ColumnKind = 'text' | 'number' | 'boolean' | 'null' | 'time' | 'other';

/** A column as the file declares it. */
export interface FoundColumn {
  kind: ColumnKind;
  /** The type as the file names it. */
  type: string;
  /** Set if its values cannot be read right: why, and what to do. */
  unreadable?: string;
}

/** Gets the names of a file's columns before its rows are read. */
export type ColumnsSeen = (names: readonly string[]) => void;

/** A timestamp from a file's schema, which needs no unit. */
export class Instant {
  /**
   * @param t whole epoch seconds
   * @param fraction the rest of a second, from 0
   */
  constructor(
    readonly t: number,
    readonly fraction: number,
  ) {}
}

/** The row named by faults of a whole column. */
const FIRST_ROW = 1;

/**
 * Refuses a file that lacks a required column or has it with another type.
 * @throws InputError with a fault for each column
 */
export function checkColumns(
  file: string,
  found: ReadonlyMap<string, FoundColumn>,
  wanted: readonly WantedColumn[],
): void {
  const faults: Fault[] = [];
  const isOneColumn = found.size === 1 ? delimiterIn([...found.keys()][0]) : null;
  for (const column of wanted) {
    const message = problemOf(column, found, wanted);
    if (message !== null) faults.push({ line: FIRST_ROW, field: column.name, message });
  }
  if (faults.length === 0) return;
  const wide = wanted.some(({ name }) => name === 'side') ? wideBook([...found.keys()]) : null;
  if (wide !== null) throw refusal(file, [{ line: FIRST_ROW, field: 'side', message: wide }]);
  if (isOneColumn === null) throw refusal(file, faults);
  throw refusal(file, [{ line: FIRST_ROW, field: 'csv', message: isOneColumn }]);
}

function problemOf(
  wanted: WantedColumn,
  columns: ReadonlyMap<string, FoundColumn>,
  all: readonly WantedColumn[],
): string | null {
  const found = columns.get(wanted.name);
  if (found === undefined) {
    if (!wanted.required) return null;
    const names = [...columns.keys()];
    const plain = names.filter((name) => columns.get(name)?.kind !== 'other');
    const fields = all.map(({ name }) => name);
    if (wanted.flag === undefined) return missingColumn(wanted, plain, fields);
    return `${wanted.flag}: the file has no such column; it has ${listed(names)}`;
  }
  if (found.unreadable !== undefined) return found.unreadable;
  if (wanted.kind === 'any' || found.kind === wanted.kind || isReadByValue(wanted, found)) {
    return null;
  }
  const kinds = wanted.kind === 'scalar' ? 'numbers or texts' : `${wanted.kind}s`;
  return `must be a column of ${kinds}, this one is ${found.type}`;
}

/** Whether the values of a column of another kind are checked row by row. */
function isReadByValue({ kind, required, time }: WantedColumn, found: FoundColumn): boolean {
  if (found.kind === 'null') return true;
  if (found.kind === 'time') return time !== undefined;
  // A nullable column of texts whose values are all null may have any scalar type.
  return found.kind !== 'other' && (kind === 'scalar' || !required);
}

/** Values of a column, by row. */
export interface ColumnValues {
  name: string;
  values: readonly unknown[];
  /** What a row has of a value; consecutive rows with the same value share it. */
  read: (value: unknown) => unknown;
}

/** 64-bit integers become numbers. */
export const plainValue = (value: unknown): unknown =>
  typeof value === 'bigint' ? Number(value) : value;

/** How the numbers of a time are read: all their digits are kept. */
export const readTimeNumber = (value: unknown): unknown =>
  typeof value === 'bigint' ? timeNumber(String(value)) : value;

/** How timestamps are read that count `perSecond` units since 1970. */
export function readTimestamp(
  time: WantedColumn['time'],
  perSecond: number,
): (value: unknown) => unknown {
  return (value) => {
    if (value === null) return null;
    const [t, fraction] = splitUnits(value as bigint | number, perSecond);
    return time === 'whole' ? t : new Instant(t, fraction);
  };
}

function splitUnits(units: bigint | number, perSecond: number): [t: number, fraction: number] {
  const all = BigInt(units);
  const unit = BigInt(perSecond);
  const rest = ((all % unit) + unit) % unit;
  return [Number((all - rest) / unit), Number(rest) / perSecond];
}

/** Rows as objects of the columns' values. */
export function rowsOfColumns(
  columns: readonly ColumnValues[],
  rowCount: number,
): Record<string, unknown>[] {
  const rows = Array.from({ length: rowCount }, (): Record<string, unknown> => ({}));
  for (const { name, values, read } of columns) {
    let before: unknown = null;
    let plain: unknown = read(null);
    for (let row = 0; row < rowCount; row++) {
      const value = values[row];
      if (value !== before) plain = read(value);
      before = value;
      rows[row][name] = plain;
    }
  }
  return rows;
}
