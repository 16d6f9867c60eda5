/** The columns that a dataset needs from a file with a schema (Parquet, Arrow, a CSV header). */
import { CELL_NUMBERS, CELL_TEXTS } from '../../compute/ingest/cell-columns.js';
import type { Fault } from '../../compute/ingest/fields.js';
import { refusal } from './prepared.js';

/** `null`: a column of nulls; `other`: times, lists, structs, bytes and the like. */
export type ColumnKind = 'text' | 'number' | 'boolean' | 'null' | 'other';

/** A column as the file declares it. */
export interface FoundColumn {
  kind: ColumnKind;
  /** The type as the file names it. */
  type: string;
}

/** A column as a dataset wants it. */
export interface WantedColumn {
  name: string;
  /** `any`: checked value by value. */
  kind: 'text' | 'number' | 'boolean' | 'any';
  required: boolean;
}

export const SNAPSHOT_COLUMNS: readonly WantedColumn[] = [
  { name: 'chain', kind: 'text', required: true },
  { name: 'address', kind: 'text', required: true },
  { name: 't', kind: 'number', required: true },
  { name: 'tier', kind: 'text', required: false },
  { name: 'price_usd', kind: 'number', required: true },
  { name: 'markets', kind: 'any', required: true },
];

const NULLABLE_CELL_COLUMNS: readonly string[] = ['tier', 'type', 'market_address', 'pair'];

export const CELL_COLUMNS: readonly WantedColumn[] = [
  ...CELL_TEXTS.map((name) => ({ name, kind: 'text' as const })),
  ...CELL_NUMBERS.map((name) => ({ name, kind: 'number' as const })),
].map((column) => ({ ...column, required: !NULLABLE_CELL_COLUMNS.includes(column.name) }));

/** The row that faults of a whole column name. */
const FIRST_ROW = 1;

/**
 * Refuses a file that lacks a required column or has it in another type.
 * @throws InputError with a fault for each column
 */
export function checkColumns(
  file: string,
  found: ReadonlyMap<string, FoundColumn>,
  wanted: readonly WantedColumn[],
): void {
  const faults: Fault[] = [];
  for (const column of wanted) {
    const message = problemOf(column, found.get(column.name));
    if (message !== null) faults.push({ line: FIRST_ROW, field: column.name, message });
  }
  if (faults.length > 0) throw refusal(file, faults);
}

function problemOf(wanted: WantedColumn, found: FoundColumn | undefined): string | null {
  // A nullable column may have any type: its values are checked row by row.
  if (!wanted.required) return null;
  if (found === undefined) return 'the file has no column of this name';
  if (wanted.kind === 'any' || found.kind === 'null' || found.kind === wanted.kind) return null;
  return `must be a column of ${wanted.kind}s, this one is ${found.type}`;
}

/** Rows as objects of the columns' values; 64-bit integers become numbers. */
export function rowsOfColumns(
  columns: readonly { name: string; values: readonly unknown[] }[],
  rowCount: number,
): Record<string, unknown>[] {
  const rows = Array.from({ length: rowCount }, (): Record<string, unknown> => ({}));
  for (const { name, values } of columns) {
    for (let row = 0; row < rowCount; row++) {
      const value = values[row];
      rows[row][name] = typeof value === 'bigint' ? Number(value) : value;
    }
  }
  return rows;
}
