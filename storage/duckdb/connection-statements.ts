/** Statements on one connection, one at a time. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { appendOn } from './appending.js';
import { chunksOn } from './result-chunks.js';
import type { SqlParameter, SqlRow, Statements } from './statements.js';
import { valuesOn } from './stored-values.js';
import { bindings, plainValue } from './values.js';

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
