/** Which columns a dataset needs from a file with a schema (Parquet, Arrow, a CSV header). */
import { CELL_NUMBERS, CELL_TEXTS } from '../../compute/ingest/cell-columns.js';
import { CHAINS, EXCHANGE_TYPES, MARKET_TYPES, TIERS } from '../../compute/market.js';
import type { Fault } from '../../compute/ingest/fields.js';
import { delimiterIn, listed, missingColumn } from './hints.js';
import { refusal } from './prepared.js';

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
}

/** A column that a dataset wants. */
export interface WantedColumn {
  name: string;
  /** `any`: checked value by value. */
  kind: 'text' | 'number' | 'boolean' | 'any';
  required: boolean;
  /** The values that a text may have. */
  values?: readonly string[];
  /** The flag that names the column, if one does. */
  flag?: string;
  /** For a time in epoch seconds: how readers return a timestamp, as its whole seconds or as an Instant. */
  time?: 'whole' | 'instant';
}

/** Gets the names of a file's columns before its rows are read. */
export type ColumnsSeen = (names: readonly string[]) => void;

/** A timestamp from a file's schema, which needs no unit. */
export class Instant {
  /** @param s epoch seconds with their fraction */
  constructor(readonly s: number) {}
}

/** A required column of texts. @param values those that it may have; by default any */
export const text = (name: string, values?: readonly string[]) => ({
  name,
  kind: 'text' as const,
  required: true,
  ...(values === undefined ? {} : { values }),
});
export const number = (name: string) => ({ name, kind: 'number' as const, required: true });
/** The column, which may be missing and have nulls. */
export const optional = <C extends WantedColumn>(column: C): C => ({ ...column, required: false });

export const SNAPSHOT_COLUMNS: readonly WantedColumn[] = [
  text('chain', CHAINS),
  text('address'),
  { ...number('t'), time: 'whole' },
  optional(text('tier', TIERS)),
  number('price_usd'),
  { name: 'markets', kind: 'any', required: true },
];

/** The possible values of some text columns of `cells`. */
const TEXT_VALUES: Readonly<Partial<Record<string, readonly string[]>>> = {
  chain: CHAINS,
  tier: TIERS,
  exchange_type: EXCHANGE_TYPES,
  type: MARKET_TYPES,
};

const NULLABLE_CELL_COLUMNS: readonly string[] = ['tier', 'type', 'market_address', 'pair'];

export const CELL_COLUMNS: readonly WantedColumn[] = [
  ...CELL_TEXTS.map((name) => text(name, TEXT_VALUES[name])),
  ...CELL_NUMBERS.map((name): WantedColumn =>
    name === 't' ? { ...number(name), time: 'whole' } : number(name),
  ),
].map((column) => (NULLABLE_CELL_COLUMNS.includes(column.name) ? optional(column) : column));

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
  if (isOneColumn === null) throw refusal(file, faults);
  throw refusal(file, [{ line: FIRST_ROW, field: 'csv', message: isOneColumn }]);
}

function problemOf(
  wanted: WantedColumn,
  columns: ReadonlyMap<string, FoundColumn>,
  all: readonly WantedColumn[],
): string | null {
  const found = columns.get(wanted.name);
  // A nullable column may have any type: its values are checked row by row.
  if (!wanted.required) return null;
  if (found === undefined) {
    const names = [...columns.keys()];
    const plain = names.filter((name) => columns.get(name)?.kind !== 'other');
    const fields = all.map(({ name }) => name);
    if (wanted.flag === undefined) return missingColumn(wanted, plain, fields);
    return `${wanted.flag}: the file has no such column; it has ${listed(names)}`;
  }
  if (found.kind === 'time' && wanted.time !== undefined) return null;
  if (wanted.kind === 'any' || found.kind === 'null' || found.kind === wanted.kind) return null;
  return `must be a column of ${wanted.kind}s, this one is ${found.type}`;
}

/** Values of a column, by row. */
interface ColumnValues {
  name: string;
  values: readonly unknown[];
  /** Set if the values are timestamps: epoch seconds with their fraction, or null. */
  time: WantedColumn['time'];
}

/** Rows as objects of the columns' values; 64-bit integers become numbers. */
export function rowsOfColumns(
  columns: readonly ColumnValues[],
  rowCount: number,
): Record<string, unknown>[] {
  const rows = Array.from({ length: rowCount }, (): Record<string, unknown> => ({}));
  for (const { name, values, time } of columns) {
    for (let row = 0; row < rowCount; row++) {
      const value = values[row];
      const plain = typeof value === 'bigint' ? Number(value) : value;
      rows[row][name] = time === undefined ? plain : timeValue(value as number | null, time);
    }
  }
  return rows;
}

function timeValue(seconds: number | null, time: 'whole' | 'instant'): unknown {
  if (seconds === null) return null;
  return time === 'whole' ? Math.floor(seconds) : new Instant(seconds);
}
