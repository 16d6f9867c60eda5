/**
 * Rows from JavaScript as a table in a statement. DuckDB requests them a few at a time while it runs in a separate
 * thread: an appender would compress and write row groups on the event loop.
 */
import type { DuckDBConnection, DuckDBDataChunk, DuckDBType } from '@duckdb/node-api';
import { client } from './client.js';
import type { SqlValue } from './statements.js';

const { BLOB, BOOLEAN, DOUBLE, VARCHAR } = client;

type Row = readonly SqlValue[];

/** Rows, and bytes of their blobs, passed to DuckDB in one turn of the event loop. */
const GIVEN_ROWS_AT_ONCE = 256;
const GIVEN_BYTES_AT_ONCE = 512 * 1024;

/** The table's name in statements. */
const TABLE = /\bgiven\(\)/g;

let count = 0;

/** The table of one connection, which runs one statement at a time. */
export class GivenRows {
  /** DuckDB knows a function by this name in all connections. */
  private readonly name = `given_${++count}`;
  private rows: readonly Row[] = [];
  private at = 0;

  /** @param connection without a transaction: DuckDB would forget the function if it were rolled back */
  constructor(connection: DuckDBConnection) {
    this.register(connection);
  }

  /**
   * Makes the statement's `given()` read `rows`, at least one; each of the columns `c0`, `c1`... has one type.
   */
  use(sql: string, rows: readonly Row[]): string {
    this.rows = rows;
    return sql.replace(TABLE, `${this.name}()`);
  }

  /** Call after the statement. */
  forget(): void {
    this.rows = [];
  }

  private register(connection: DuckDBConnection): void {
    const table = client.DuckDBTableFunction.create({
      name: this.name,
      bindFunction: (bind) =>
        this.rows[0].forEach((_, i) => bind.addResultColumn(`c${i}`, typeOfColumn(this.rows, i))),
      initFunction: () => {
        this.at = 0;
      },
      mainFunction: (_, chunk) => this.fill(chunk),
    });
    connection.registerTableFunction(table);
    table.destroySync();
  }

  private fill(chunk: DuckDBDataChunk): void {
    const { rows, at } = this;
    const end = endOfTurn(rows, at);
    chunk.rowCount = end - at;
    if (end === at) return;
    for (let column = 0; column < rows[at].length; column++) {
      const vector = chunk.getColumnVector(column);
      for (let i = at; i < end; i++) {
        const value = rows[i][column];
        const item = value instanceof Uint8Array ? new client.DuckDBBlobValue(value) : value;
        vector.setItem(i - at, item);
      }
      vector.flush();
    }
    this.at = end;
  }
}

function endOfTurn(rows: readonly Row[], from: number): number {
  const last = Math.min(rows.length, from + GIVEN_ROWS_AT_ONCE);
  let bytes = 0;
  for (let i = from; i < last; i++) {
    for (const value of rows[i]) if (value instanceof Uint8Array) bytes += value.length;
    if (bytes >= GIVEN_BYTES_AT_ONCE) return i + 1;
  }
  return last;
}

/** Numbers are doubles, which hold every stored integer exactly; DuckDB casts them to the column's type. */
function typeOfColumn(rows: readonly Row[], column: number): DuckDBType {
  for (const { [column]: value } of rows) {
    if (value === null) continue;
    if (value instanceof Uint8Array) return BLOB;
    return typeof value === 'number' ? DOUBLE : typeof value === 'boolean' ? BOOLEAN : VARCHAR;
  }
  return VARCHAR;
}
