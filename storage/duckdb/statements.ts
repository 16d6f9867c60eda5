/** Statements, values and results, without DuckDB's own types. */
import { pushTo } from '../../compute/collections.js';

/** Rows per row group: few, because deleting a segment rewrites its row group. */
export const ROW_GROUP_ROWS = 2048;
/**
 * Bytes of one stored value. DuckDB holds a row group in memory until it is full: at most ROW_GROUP_ROWS values,
 * 128 MiB.
 */
export const MAX_VALUE_BYTES = 64 * 1024;

export type SqlValue = string | number | boolean | null | Uint8Array;
/** A row that a statement reads from its table `given()`. */
export type GivenRow = readonly SqlValue[];
/** A row of a result. BIGINTs become numbers: every stored one fits. */
export type SqlRow = (SqlValue | SqlRow)[];

/** Rows of a result, at most a vector's worth. */
export interface ResultChunk {
  rowCount: number;
  /** Returns a function that reads a column's values by row: null, text, number (64-bit ones as bigint) or bytes. */
  reader(column: number): (row: number) => unknown;
  /** A column of doubles without nulls, in DuckDB's memory: read it before the next chunk. */
  doubles(column: number): Float64Array;
  /** A column's values: lists as arrays, structs as objects, 64-bit integers as bigint. */
  values(column: number): readonly unknown[];
}

/** A value kept in parts, and the checksum stored with its part 0. */
export interface StoredValue {
  /** In a separate ArrayBuffer, which may be transferred. */
  bytes: Uint8Array<ArrayBuffer>;
  checksum: number;
}

export interface Statements {
  /** @param given rows that the statement reads as the table `given()`, with columns `c0`, `c1`...; at least one */
  run(sql: string, values?: readonly SqlValue[], given?: readonly GivenRow[]): Promise<void>;
  rows(sql: string, values?: readonly SqlValue[]): Promise<SqlRow[]>;
  /**
   * Values by key, from rows of key (BIGINT), part (INTEGER, from 0), data (BLOB) and checksum
   * (UINTEGER, of part 0), in any order.
   */
  values(sql: string): Promise<Map<number, StoredValue>>;
  /** The number of a table's rows. */
  count(table: string): Promise<number>;
  /** Rows of a result that fits into memory, a vector at a time. `given` as for run(). */
  chunks(
    sql: string,
    values?: readonly SqlValue[],
    given?: readonly GivenRow[],
  ): AsyncGenerator<ResultChunk>;
  /** Inserts rows, values in the table's order. @param onConflict the text after ON CONFLICT */
  append(table: string, rows: readonly GivenRow[], onConflict?: string): Promise<void>;
}

/** A result's rows by the number in their first column, without that column. */
export function byFirstColumn(rows: readonly SqlRow[]): Map<number, SqlRow[]> {
  const groups = new Map<number, SqlRow[]>();
  for (const [key, ...columns] of rows) pushTo(groups, key as number, columns);
  return groups;
}

/** Cuts a value into parts of at most `partBytes`; an empty value is one part. */
export function partsOf(bytes: Uint8Array, partBytes = MAX_VALUE_BYTES): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let from = 0;
  do {
    parts.push(bytes.subarray(from, from + partBytes));
    from += partBytes;
  } while (from < bytes.length);
  return parts;
}

/** A condition with which DuckDB skips row groups by the range of their ids. @param ids not empty */
export function whereIdIn(column: string, ids: readonly number[]): string {
  let [low] = ids;
  let [high] = ids;
  for (const id of ids) {
    low = Math.min(low, id);
    high = Math.max(high, id);
  }
  return `${column} BETWEEN ${low} AND ${high} AND ${column} IN (${ids.join(',')})`;
}
