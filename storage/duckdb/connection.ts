/** A connection to DuckDB: one statement at a time, and the conversion of values. */
import type {
  DuckDBConnection,
  DuckDBDataChunk,
  DuckDBResult,
  DuckDBType,
  DuckDBValue,
  DuckDBVector,
} from '@duckdb/node-api';
import { client } from './client.js';
import { StoreUnavailableError } from '../errors.js';
import { called } from './duckdb-error.js';
import { GivenColumns, type GivenTable } from './given-columns.js';
import { GivenRows } from './given-rows.js';
import type {
  GivenRow,
  ResultChunk,
  SqlRow,
  SqlValue,
  Statements,
  StoredValue,
} from './statements.js';

const { BIGINT, BLOB, BOOLEAN, DOUBLE, SQLNULL, VARCHAR } = client;
const { DuckDBBlobValue, DuckDBBlobVector, JSDuckDBValueConverter } = client;

/** A column whose only value marks the end of a result: without it, a result that failed midway looks complete. */
const END = 'fathom_end';
/** Blobs up to this length are inside the vector, in the chunk's memory; the client copies longer ones. */
const INLINE_BYTES = 12;

export class Connection implements Statements {
  private readonly given: GivenRows;
  private readonly givenColumns: GivenColumns;

  constructor(private readonly connection: DuckDBConnection) {
    this.given = new GivenRows(connection);
    this.givenColumns = new GivenColumns(connection);
  }

  async run(
    sql: string,
    values: readonly SqlValue[] = [],
    given: readonly GivenRow[] = [],
  ): Promise<void> {
    try {
      const reading = this.reading(sql, given);
      await called(() => this.connection.run(reading, ...bindings(values)));
    } finally {
      this.given.forget();
    }
  }

  /** Runs a statement that reads a table as `given_columns()`. @throws also what the table's next() throws */
  async runOn(table: GivenTable, sql: string): Promise<void> {
    const reading = this.givenColumns.use(sql, table);
    // If next() has failed, DuckDB's own error says less.
    await called(() => this.connection.run(reading)).finally(() => this.givenColumns.forget());
  }

  async rows(sql: string, values: readonly SqlValue[] = []): Promise<SqlRow[]> {
    const reader = await called(() => this.connection.runAndReadAll(sql, ...bindings(values)));
    return reader.getRows().map((row) => row.map(plainValue));
  }

  /**
   * Copies each part once and wraps nothing: it takes a third less time on the event loop than rows(), and half the
   * memory.
   */
  async values(sql: string): Promise<Map<number, StoredValue>> {
    const result = await called(() => this.connection.run(sql));
    const gathered = new Map<number, Gathered>();
    for (let i = 0; i < result.chunkCount; i++) gather(result.getChunk(i), gathered);
    return new Map(
      Array.from(gathered, ([key, { parts, checksum }]) => [
        key,
        { bytes: joined(parts), checksum },
      ]),
    );
  }

  async count(table: string): Promise<number> {
    const [[rows]] = await this.rows(`SELECT count(*) FROM ${table}`);
    return rows as number;
  }

  async *chunks(
    sql: string,
    values: readonly SqlValue[] = [],
    given: readonly GivenRow[] = [],
  ): AsyncGenerator<ResultChunk> {
    try {
      const reading = this.reading(sql, given);
      const result = await called(() => this.connection.run(reading, ...bindings(values)));
      for (let i = 0; i < result.chunkCount; i++) yield resultChunk(result.getChunk(i));
    } finally {
      this.given.forget();
    }
  }

  /**
   * Yields a result's chunks while DuckDB produces them: the result may be larger than memory. Not for use within a
   * transaction. The connection accepts no other statement until the end.
   */
  async *stream(sql: string, values: readonly SqlValue[] = []): AsyncGenerator<ResultChunk> {
    const marked = `FROM (${sql}) UNION ALL BY NAME SELECT true AS ${END}`;
    const result = await called(() => this.connection.stream(marked, ...bindings(values)));
    let next = result.fetchChunk();
    try {
      for (;;) {
        const chunk = await next;
        if (chunk === null || chunk.rowCount === 0) return await this.throwCause(sql, values);
        const isEnd = chunk.getColumnVector(chunk.columnCount - 1).getItem(0) === true;
        // DuckDB produces the next chunk while this one is read.
        next = result.fetchChunk();
        next.catch(() => undefined);
        if (isEnd) return;
        yield resultChunk(chunk);
      }
    } finally {
      // The connection accepts no other statement before this has ended.
      const ahead = await next.catch(() => null);
      // A result that is not read to its end keeps the database open after closing, until the result is collected.
      if (ahead !== null && ahead.rowCount > 0) await this.breakOff(result);
    }
  }

  private async breakOff(result: DuckDBResult): Promise<void> {
    this.connection.interrupt();
    try {
      for (;;) {
        const chunk = await result.fetchChunk();
        if (chunk === null || chunk.rowCount === 0) return;
      }
    } catch {
      // The interruption is reported as an error.
    }
  }

  /** Throws the error that made DuckDB stop in the middle of a result: DuckDB reports it only for a result read as a whole. */
  private async throwCause(sql: string, values: readonly SqlValue[]): Promise<never> {
    const whole = `SELECT bit_xor(hash(result)) FROM (${sql}) AS result`;
    await called(() => this.connection.run(whole, ...bindings(values)));
    throw new StoreUnavailableError(
      'DuckDB stopped in the middle of a result without giving a reason: try again',
    );
  }

  async append(table: string, rows: readonly GivenRow[], onConflict?: string): Promise<void> {
    if (rows.length === 0) return;
    const merging = onConflict === undefined ? '' : ` ON CONFLICT ${onConflict}`;
    await this.run(`INSERT INTO ${table} SELECT * FROM given()${merging}`, [], rows);
  }

  private reading(sql: string, given: readonly GivenRow[]): string {
    return given.length === 0 ? sql : this.given.use(sql, given);
  }

  close(): void {
    this.connection.closeSync();
  }
}

/** Parameters and their types for the client; empty if there is nothing to bind. */
function bindings(values: readonly SqlValue[]): [DuckDBValue[]?, DuckDBType[]?] {
  if (values.length === 0) return [];
  return [values.map(parameterValue), values.map(parameterType)];
}

function parameterValue(value: SqlValue): DuckDBValue {
  if (value instanceof Uint8Array) return new DuckDBBlobValue(value);
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
}

function parameterType(value: SqlValue): DuckDBType {
  if (value === null) return SQLNULL;
  if (value instanceof Uint8Array) return BLOB;
  switch (typeof value) {
    case 'string':
      return VARCHAR;
    case 'boolean':
      return BOOLEAN;
    default:
      return Number.isSafeInteger(value) ? BIGINT : DOUBLE;
  }
}

/** Converts a value of a result. @throws TypeError for a type that no query of ours selects */
function plainValue(value: DuckDBValue): SqlValue | SqlRow {
  switch (typeof value) {
    case 'bigint':
      return Number(value);
    case 'string':
    case 'number':
    case 'boolean':
      return value;
    default:
      break;
  }
  if (value === null) return null;
  if (value instanceof DuckDBBlobValue) {
    const { buffer, byteOffset, byteLength } = value.bytes;
    return new Uint8Array(buffer, byteOffset, byteLength);
  }
  if (typeof value === 'object' && 'items' in value) {
    return (value.items as DuckDBValue[]).map(plainValue);
  }
  throw new TypeError('a column of a type that no query of ours selects');
}

function resultChunk(chunk: DuckDBDataChunk): ResultChunk {
  return {
    rowCount: chunk.rowCount,
    reader(column) {
      const vector = chunk.getColumnVector(column);
      if (vector instanceof DuckDBBlobVector) return (row) => vector.getItemBytes(row);
      return (row) => vector.getItem(row);
    },
    doubles: (column) => doublesOf(chunk.getColumnVector(column)),
    values: (column) => chunk.convertColumnValues(column, JSDuckDBValueConverter),
  };
}

/** The client has no method that returns the array; a call per value takes ten times as long. */
function doublesOf(vector: DuckDBVector): Float64Array {
  const { items } = vector as unknown as { items?: unknown };
  if (items instanceof Float64Array) return items;
  return Float64Array.from({ length: vector.itemCount }, (_, row) => vector.getItem(row) as number);
}

/** The parts of one value. */
interface Gathered {
  parts: Uint8Array<ArrayBuffer>[];
  checksum: number;
}

function gather(chunk: DuckDBDataChunk, gathered: Map<number, Gathered>): void {
  const keys = chunk.getColumnVector(0);
  const numbers = chunk.getColumnVector(1);
  const data = chunk.getColumnVector(2) as InstanceType<typeof DuckDBBlobVector>;
  const checksums = chunk.getColumnVector(3);
  for (let row = 0; row < chunk.rowCount; row++) {
    const key = Number(keys.getItem(row));
    const part = numbers.getItem(row) as number;
    let value = gathered.get(key);
    if (value === undefined) {
      value = { parts: [], checksum: 0 };
      gathered.set(key, value);
    }
    const bytes = data.getItemBytes(row) as Uint8Array<ArrayBuffer>;
    value.parts[part] = bytes.length <= INLINE_BYTES ? bytes.slice() : bytes;
    if (part === 0) value.checksum = checksums.getItem(row) as number;
  }
}

function joined(parts: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  // The client has already copied a long part into a separate buffer.
  if (parts.length === 1 && parts[0].byteLength === parts[0].buffer.byteLength) {
    return new Uint8Array(parts[0].buffer);
  }
  // A missing part is skipped: the checksum will not match.
  const bytes = parts.reduce((sum, part) => sum + part.length, 0);
  // Unlike new Uint8Array, this does not fill the buffer with zeros first, and nothing else shares it.
  const { buffer } = Buffer.allocUnsafeSlow(bytes);
  const value = new Uint8Array(buffer);
  let at = 0;
  parts.forEach((part) => {
    value.set(part, at);
    at += part.length;
  });
  return value;
}
