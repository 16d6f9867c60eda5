/**
 * Columns from JavaScript as a table in a statement. DuckDB requests them a vector at a time while it runs in a separate
 * thread, so there may be more of them than fit into memory. rows: given-rows.ts.
 */
import type { DuckDBConnection, DuckDBDataChunk, DuckDBType, DuckDBVector } from '@duckdb/node-api';
import { client } from './client.js';

const { BIGINT, DOUBLE, ENUM, INTEGER, SMALLINT, TIMESTAMP_MS } = client;

const NUMBERS = { BIGINT, DOUBLE, INTEGER, SMALLINT, TIMESTAMP_MS } as const;

export interface GivenColumn {
  name: string;
  /** Numbers of a type, or texts that values index: distinct ones, in any order. */
  type: keyof typeof NUMBERS | { texts: readonly string[] };
  /** Whether it may hold nulls, which are negative indexes of texts, or NaN as DOUBLE. */
  nullable: boolean;
}

/** A column's values: BigInt64Array for BIGINT and TIMESTAMP_MS, Int32Array for INTEGER and indexes of texts. */
export type GivenValues = BigInt64Array | Float64Array | Int16Array | Int32Array;

/** Some rows of a table. */
export interface GivenBatch {
  rowCount: number;
  /** By column. */
  columns: readonly GivenValues[];
}

export interface GivenTable {
  columns: readonly GivenColumn[];
  /** The next rows; null after the last ones. Called while the statement runs, and must not wait. */
  next(): GivenBatch | null;
}

/** Rows of one of DuckDB's vectors. */
const VECTOR_ROWS = 2048;
/** The table's name in statements. */
const TABLE = /\bgiven_columns\(\)/g;

let count = 0;

/** The table of one connection, which runs one statement at a time. */
export class GivenColumns {
  /** DuckDB knows a function by this name in all connections. */
  private readonly name = `given_columns_${++count}`;
  private table: GivenTable | null = null;
  private types: DuckDBType[] = [];
  private batch: GivenBatch = { rowCount: 0, columns: [] };
  private at = 0;
  private failure: { error: unknown } | null = null;

  constructor(private readonly connection: DuckDBConnection) {}

  /** Makes the statement's `given_columns()` read `table`. */
  use(sql: string, table: GivenTable): string {
    if (this.types.length === 0) this.register();
    this.table = table;
    this.types = table.columns.map(typeOf);
    this.batch = { rowCount: 0, columns: [] };
    this.at = 0;
    this.failure = null;
    return sql.replace(TABLE, `${this.name}()`);
  }

  /** Call after the statement. @throws the error that next() threw */
  forget(): void {
    this.table = null;
    if (this.failure !== null) throw this.failure.error;
  }

  private register(): void {
    const table = client.DuckDBTableFunction.create({
      name: this.name,
      bindFunction: (bind) =>
        this.table?.columns.forEach(({ name }, i) => bind.addResultColumn(name, this.types[i])),
      initFunction: () => undefined,
      mainFunction: (info, chunk) => {
        try {
          this.fill(chunk);
        } catch (error) {
          this.failure = { error };
          info.setError('the rows could not be made');
        }
      },
    });
    this.connection.registerTableFunction(table);
    table.destroySync();
  }

  private fill(chunk: DuckDBDataChunk): void {
    while (this.at === this.batch.rowCount) {
      const batch = this.table?.next() ?? null;
      if (batch === null) {
        chunk.rowCount = 0;
        return;
      }
      this.batch = batch;
      this.at = 0;
    }
    const from = this.at;
    const end = Math.min(from + VECTOR_ROWS, this.batch.rowCount);
    chunk.rowCount = end - from;
    this.batch.columns.forEach((values, i) => {
      const vector = chunk.getColumnVector(i) as FilledVector;
      const nullable = this.table?.columns[i].nullable === true;
      const some = values.subarray(from, end);
      vector.items.set(some);
      if (nullable) markNulls(vector, some as Float64Array | Int32Array);
      vector.flush();
    });
    this.at = end;
  }
}

/** What a vector has that the client keeps private: it has no method that sets many values at once. */
type FilledVector = DuckDBVector & {
  items: { set(values: GivenValues): void; [row: number]: unknown };
  validity: { data: BigUint64Array | null };
};

function markNulls(vector: FilledVector, values: Float64Array | Int32Array): void {
  const valid = new Uint8Array(Math.ceil(values.length / 64) * 8).fill(0xff);
  let hasNull = false;
  for (let row = 0; row < values.length; row++) {
    // NaN, or the index of no text.
    if (values instanceof Int32Array ? values[row] >= 0 : !Number.isNaN(values[row])) continue;
    hasNull = true;
    valid[row >> 3] &= ~(1 << (row & 7));
    vector.items[row] = 0;
  }
  if (hasNull) vector.validity.data = new BigUint64Array(valid.buffer);
}

/** An ENUM has at least one text. */
function typeOf({ type }: GivenColumn): DuckDBType {
  if (typeof type === 'string') return NUMBERS[type];
  return ENUM(type.texts.length === 0 ? [''] : type.texts);
}
