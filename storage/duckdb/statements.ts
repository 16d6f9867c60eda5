/** What a database takes and gives, whoever stands behind it. */

export type SqlValue = string | number | boolean | null | Uint8Array;
/** A row of a result: BIGINTs come back as numbers, which every stored one fits. */
export type SqlRow = (SqlValue | SqlRow)[];

/** What a transaction's body may do. */
export interface Statements {
  run(sql: string, values?: readonly SqlValue[]): Promise<void>;
  rows(sql: string, values?: readonly SqlValue[]): Promise<SqlRow[]>;
  /** Appends small rows, their values in the table's order: hundreds of times faster than INSERT. */
  append(table: string, rows: readonly (readonly SqlValue[])[]): Promise<void>;
}
