/** What a database takes and gives, whoever stands behind it. */

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
