/** What a database takes and gives, whoever stands behind it. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type DuckDBAppender,
  type DuckDBConnection,
  type DuckDBDataChunk,
  type DuckDBVector,
  JSDuckDBValueConverter,
} from '@duckdb/node-api';
import { bindings, plainValue, valuesOn } from './values.js';

export type SqlValue = string | number | boolean | null | Uint8Array;
/** What a statement may be given: a list comes as one value, of texts or of 32-bit numbers. */
export type SqlParameter = SqlValue | readonly string[] | Uint32Array<ArrayBuffer>;
/** A row of a result: BIGINTs come back as numbers, which every stored one fits. */
export type SqlRow = (SqlValue | SqlRow)[];

/** Rows of a result, at most a vector's worth. */
export interface ResultChunk {
  rowCount: number;
  /** Reads a column's values by row: null, a text or a number (64-bit ones as bigint). */
  reader(column: number): (row: number) => unknown;
  /**
   * A column of doubles without nulls, as DuckDB holds it: to be read before the next chunk is asked
   * for.
   */
  doubles(column: number): Float64Array;
  /** A column's values: lists as arrays, structs as objects, 64-bit integers as bigint. */
  values(column: number): readonly unknown[];
}

/** A value that is kept in parts, and what stands beside its part 0. */
export interface StoredValue {
  /** In an ArrayBuffer of its own, which may be moved. */
  bytes: Uint8Array<ArrayBuffer>;
  checksum: number;
}

/** What a transaction's body may do. */
export interface Statements {
  run(sql: string, values?: readonly SqlParameter[]): Promise<void>;
  rows(sql: string, values?: readonly SqlParameter[]): Promise<SqlRow[]>;
  /**
   * Values by key, from rows of key (BIGINT), part (INTEGER, from 0), data (BLOB) and checksum
   * (UINTEGER, that of part 0 counts) in any order.
   */
  values(sql: string): Promise<Map<number, StoredValue>>;
  /** As rows, a vector at a time; nothing else may be asked for before its end. */
  chunks(sql: string, values?: readonly SqlParameter[]): AsyncGenerator<ResultChunk>;
  /** Appends small rows, their values in the table's order: hundreds of times faster than INSERT. */
  append(table: string, rows: readonly (readonly SqlValue[])[]): Promise<void>;
}

// Statements on one connection, one at a time.

/** What a transaction's body may do, on the connection that the transaction is on. */
export function statementsOn(connection: DuckDBConnection): Statements {
  return {
    run: (sql, values = []) => runOn(connection, sql, values),
    rows: (sql, values = []) => rowsOn(connection, sql, values),
    values: (sql) => valuesOn(connection, sql),
    chunks: (sql, values = []) => chunksOn(connection, sql, values),
    append: (table, rows) => appendOn(connection, table, rows),
  };
}

/** Runs a statement whose result nobody reads. */
export async function runOn(
  connection: DuckDBConnection,
  sql: string,
  values: readonly SqlParameter[],
): Promise<void> {
  await connection.run(sql, ...bindings(values));
}

/** Runs a query and reads all of its rows. */
export async function rowsOn(
  connection: DuckDBConnection,
  sql: string,
  values: readonly SqlParameter[],
): Promise<SqlRow[]> {
  const reader = await connection.runAndReadAll(sql, ...bindings(values));
  return reader.getRows().map((row) => row.map(plainValue));
}

// Rows into a table without a statement each.

/** Rows that are appended before other work of the process gets its turn. */
const ROWS_A_TURN = 1024;

/** Appends rows, their values in the table's order, to the transaction that the connection is in. */
export async function appendOn(
  connection: DuckDBConnection,
  table: string,
  rows: readonly (readonly SqlValue[])[],
): Promise<void> {
  // One for all of the rows: each keeps its memory until it is collected, closed or not.
  const appender = await connection.createAppender(table);
  try {
    for (let first = 0; first < rows.length; first += ROWS_A_TURN) {
      if (first > 0) await nextTurn();
      for (const row of rows.slice(first, first + ROWS_A_TURN)) {
        for (const value of row) appendTo(appender, value);
        appender.endRow();
      }
      appender.flushSync();
    }
    appender.closeSync();
  } catch (error) {
    // Rows that it still holds would be written as it is collected, whatever transaction is on then.
    appender.clear();
    throw error;
  }
}

/** By type: values that are wrapped first cost several times as much, and memory until much later. */
function appendTo(appender: DuckDBAppender, value: SqlValue): void {
  if (value === null) appender.appendNull();
  else if (typeof value === 'string') appender.appendVarchar(value);
  else if (typeof value === 'boolean') appender.appendBoolean(value);
  else if (typeof value !== 'number') appender.appendBlob(value);
  else if (Number.isSafeInteger(value)) appender.appendBigInt(BigInt(value));
  else appender.appendDouble(value);
}

// Results that are read a vector at a time.

/**
 * Yields a query's rows while DuckDB makes the next ones; the connection takes nothing else before
 * the end, or before the caller gives up.
 */
export async function* chunksOn(
  connection: DuckDBConnection,
  sql: string,
  values: readonly SqlParameter[],
): AsyncGenerator<ResultChunk> {
  const result = await connection.stream(sql, ...bindings(values));
  let next = result.fetchChunk();
  try {
    for (;;) {
      const chunk = await next;
      if (chunk === null || chunk.rowCount === 0) return;
      // DuckDB makes the next one while this one is read.
      next = result.fetchChunk();
      next.catch(() => undefined);
      yield resultChunk(chunk);
    }
  } finally {
    // The connection is not to be used for anything else before that.
    await next.catch(() => undefined);
  }
}

function resultChunk(chunk: DuckDBDataChunk): ResultChunk {
  return {
    rowCount: chunk.rowCount,
    reader(column) {
      const vector = chunk.getColumnVector(column);
      return (row) => vector.getItem(row);
    },
    doubles: (column) => doublesOf(chunk.getColumnVector(column)),
    values: (column) => chunk.convertColumnValues(column, JSDuckDBValueConverter),
  };
}

/** The client has the array, but no method that gives it: a call for each value costs ten times it. */
function doublesOf(vector: DuckDBVector): Float64Array {
  const { items } = vector as unknown as { items?: unknown };
  if (items instanceof Float64Array) return items;
  return Float64Array.from({ length: vector.itemCount }, (_, row) => vector.getItem(row) as number);
}
