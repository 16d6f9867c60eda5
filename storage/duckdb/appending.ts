/** Rows into a table without a statement each. */
import type { DuckDBAppender, DuckDBConnection } from '@duckdb/node-api';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { SqlValue } from './statements.js';

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
