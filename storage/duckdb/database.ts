/**
 * The one module that knows DuckDB's client. A Database is one instance over one file, with a fixed
 * set of connections that each run one statement at a time.
 */
import {
  BIGINT,
  BLOB,
  BOOLEAN,
  DOUBLE,
  DuckDBBlobValue,
  DuckDBInstance,
  JSDuckDBValueConverter,
  SQLNULL,
  VARCHAR,
  type DuckDBConnection,
  type DuckDBType,
  type DuckDBValue,
} from '@duckdb/node-api';
import { Lanes } from './lanes.js';

export type SqlValue = string | number | boolean | null | Uint8Array;
/** A row of a result: BIGINTs come back as numbers, which every stored one fits. */
export type SqlRow = (SqlValue | SqlRow)[];

/** Rows of one row group: small, so that deleting a few segments rewrites few others. */
const ROW_GROUP_ROWS = 2048;
/** Reading connections; below libuv's four threads, so that a full set starves nobody. */
const READERS = 2;

export interface DatabaseOptions {
  memoryLimitMiB: number;
  threads: number;
  /** Where DuckDB may spill; without one it never writes beside the file. */
  tempDirectory?: string;
}

/** What a transaction's body may do. */
export interface Statements {
  run(sql: string, values?: readonly SqlValue[]): Promise<void>;
  rows(sql: string, values?: readonly SqlValue[]): Promise<SqlRow[]>;
}

/** Another process holds the file. */
export class DatabaseLockedError extends Error {}
/** The file is no database, or a damaged one. */
export class DatabaseDamagedError extends Error {}

export class Database implements Statements {
  private constructor(
    private readonly instance: DuckDBInstance,
    private readonly readers: Lanes<DuckDBConnection>,
    private readonly writer: Lanes<DuckDBConnection>,
  ) {}

  /**
   * Opens (or creates) the database file for reading and writing.
   * @throws DatabaseLockedError while another process has it open
   * @throws DatabaseDamagedError where the file cannot be read as a database
   */
  static async openFile(path: string, options: DatabaseOptions): Promise<Database> {
    const instance = await createInstance(options);
    try {
      const attaching = await instance.connect();
      await attaching.run(
        `ATTACH '${path.replaceAll("'", "''")}' AS store (STORAGE_VERSION 'v1.4.0', ROW_GROUP_SIZE ${ROW_GROUP_ROWS})`,
      );
      await attaching.run('SET enable_external_access = false');
      await attaching.run('SET lock_configuration = true');
      attaching.closeSync();
      return await Database.withConnections(instance, 'USE store');
    } catch (error) {
      instance.closeSync();
      throw openingError(error, path);
    }
  }

  /** A database in memory alone, for reading files with DuckDB's readers. */
  static async openMemory(options: DatabaseOptions): Promise<Database> {
    return Database.withConnections(await createInstance(options), 'SELECT 1');
  }

  private static async withConnections(instance: DuckDBInstance, first: string): Promise<Database> {
    const connect = async (): Promise<DuckDBConnection> => {
      const connection = await instance.connect();
      await connection.run(first);
      return connection;
    };
    const readers = await Promise.all(Array.from({ length: READERS }, connect));
    return new Database(instance, new Lanes(readers), new Lanes([await connect()]));
  }

  /** Runs one statement on the writing connection, outside any transaction. */
  async run(sql: string, values: readonly SqlValue[] = []): Promise<void> {
    await this.writer.use((connection) => runOn(connection, sql, values));
  }

  /** Reads rows on one of the reading connections; it sees what is committed. */
  async rows(sql: string, values: readonly SqlValue[] = []): Promise<SqlRow[]> {
    return this.readers.use((connection) => rowsOn(connection, sql, values));
  }

  /**
   * Runs `body` in one transaction on the writing connection: committed when it resolves, rolled
   * back when it throws. Transactions wait for one another.
   */
  async transaction<T>(body: (tx: Statements) => Promise<T>): Promise<T> {
    return this.writer.use(async (connection) => {
      await connection.run('BEGIN TRANSACTION');
      try {
        const result = await body({
          run: (sql, values = []) => runOn(connection, sql, values),
          rows: (sql, values = []) => rowsOn(connection, sql, values),
        });
        await connection.run('COMMIT');
        return result;
      } catch (error) {
        // A failed COMMIT has rolled back by itself; a second ROLLBACK then has nothing to do.
        await connection.run('ROLLBACK').catch(() => undefined);
        throw error;
      }
    });
  }

  /**
   * Yields a query's columns a vector at a time, so that a large result never stands in memory.
   * Nested values come as JSON has them: lists as arrays, structs as objects, integers as numbers.
   */
  async *streamColumns(sql: string): AsyncGenerator<{ rowCount: number; columns: unknown[][] }> {
    const connection = await this.instance.connect();
    try {
      const result = await connection.stream(sql);
      for (;;) {
        const chunk = await result.fetchChunk();
        if (chunk === null || chunk.rowCount === 0) return;
        const columns = chunk.convertColumns(JSDuckDBValueConverter);
        yield { rowCount: chunk.rowCount, columns: columns.map((values) => values.map(jsonValue)) };
      }
    } finally {
      connection.closeSync();
    }
  }

  /** Writes what the log holds into the file. */
  async checkpoint(): Promise<void> {
    await this.run('CHECKPOINT store');
  }

  /** Waits for running statements, then closes; the file's log is written into it. */
  async close(): Promise<void> {
    for (const connection of await this.readers.close()) connection.closeSync();
    for (const connection of await this.writer.close()) connection.closeSync();
    this.instance.closeSync();
  }
}

async function createInstance(options: DatabaseOptions): Promise<DuckDBInstance> {
  return DuckDBInstance.create(':memory:', {
    memory_limit: `${options.memoryLimitMiB}MiB`,
    threads: String(options.threads),
    temp_directory: options.tempDirectory ?? '',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  });
}

function openingError(error: unknown, path: string): Error {
  const text = error instanceof Error ? error.message : String(error);
  if (/set lock on file/i.test(text)) {
    return new DatabaseLockedError(`${path} is in use by another process`);
  }
  if (/^IO Error|Serialization|not a valid DuckDB|corrupt|checksum/i.test(text)) {
    const reason = text.split('\n')[0].replace(/^[A-Za-z ]*Error:\s*/, '');
    return new DatabaseDamagedError(`${path} cannot be opened: ${reason}`);
  }
  return error instanceof Error ? error : new Error(text);
}

async function runOn(
  connection: DuckDBConnection,
  sql: string,
  values: readonly SqlValue[],
): Promise<void> {
  await connection.run(sql, ...bindings(values));
}

async function rowsOn(
  connection: DuckDBConnection,
  sql: string,
  values: readonly SqlValue[],
): Promise<SqlRow[]> {
  const reader = await connection.runAndReadAll(sql, ...bindings(values));
  return reader.getRows().map((row) => row.map(plainValue));
}

function bindings(values: readonly SqlValue[]): [DuckDBValue[]?, DuckDBType[]?] {
  if (values.length === 0) return [];
  return [values.map(boundValue), values.map(boundType)];
}

function boundValue(value: SqlValue): DuckDBValue {
  if (value instanceof Uint8Array) return new DuckDBBlobValue(value);
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
}

function boundType(value: SqlValue): DuckDBType {
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

/** A converted value without BigInts, which JSON does not have. */
function jsonValue(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(jsonValue);
  if (typeof value === 'object' && value !== null && value.constructor === Object) {
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, jsonValue(inner)]),
    );
  }
  return value;
}
