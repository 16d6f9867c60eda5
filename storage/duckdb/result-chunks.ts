/** Results that are read a vector at a time. */
import {
  JSDuckDBValueConverter,
  type DuckDBConnection,
  type DuckDBDataChunk,
  type DuckDBVector,
} from '@duckdb/node-api';
import type { ResultChunk, SqlParameter } from './statements.js';
import { bindings } from './values.js';

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
