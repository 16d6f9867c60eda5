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
  LIST,
  SQLNULL,
  UINTEGER,
  VARCHAR,
  listValue,
  type DuckDBAppender,
  type DuckDBConnection,
  type DuckDBDataChunk,
  type DuckDBType,
  type DuckDBValue,
  type DuckDBVector,
} from '@duckdb/node-api';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DiskFullError } from '../errors.js';
import { namedError } from './errors.js';
import { instanceSettings, type DatabaseOptions } from './instance-settings.js';
import { Lanes } from './lanes.js';
import { claimFile, releaseFile } from './open-files.js';
import type { ResultChunk, SqlParameter, SqlRow, SqlValue, Statements } from './statements.js';

export type { ResultChunk, SqlRow, SqlValue, Statements } from './statements.js';

/** Rows of one row group: small, so that deleting a few segments rewrites few others. */
const ROW_GROUP_ROWS = 2048;
/**
 * Greatest bytes of one stored value: DuckDB holds a whole row group in memory before it writes it
 * out, so that a transaction's peak is this times ROW_GROUP_ROWS, 128 MiB.
 */
export const MAX_VALUE_BYTES = 64 * 1024;
/** Rows that are appended before other work of the process gets its turn. */
const ROWS_A_TURN = 1024;
/** Reading connections; below libuv's four threads, so that a full set starves nobody. */
const READERS = 2;

/** An instance with its connections. */
interface Opened {
  instance: DuckDBInstance;
  readers: Lanes<DuckDBConnection>;
  writer: Lanes<DuckDBConnection>;
  /** For small writes beside a long transaction. */
  aside: Lanes<DuckDBConnection>;
  /** For results that are read while they are made: a slow reader keeps nobody else waiting. */
  streams: Lanes<DuckDBConnection>;
  /** DuckDB refuses all work on it until it is opened anew: a checkpoint failed. */
  invalidated: boolean;
  closed: boolean;
}

export class Database implements Pick<Statements, 'run' | 'rows'> {
  private reopening: Promise<void> | null = null;
  private closed = false;

  private constructor(
    /** The file as this process knows it, or null in memory. */
    private readonly file: string | null,
    private readonly open: () => Promise<Opened>,
    private opened: Opened,
  ) {}

  /**
   * Opens (or creates) the database file for reading and writing.
   * @throws DatabaseLockedError while another process, or this one, has it open
   * @throws DatabaseDamagedError where the file cannot be read as a database
   */
  static async openFile(path: string, options: DatabaseOptions): Promise<Database> {
    const file = await claimFile(path);
    try {
      const open = (): Promise<Opened> => openAttached(path, options);
      return new Database(file, open, await open());
    } catch (error) {
      releaseFile(file);
      throw error;
    }
  }

  /** A database in memory alone, for reading files with DuckDB's readers. */
  static async openMemory(options: DatabaseOptions): Promise<Database> {
    const open = async (): Promise<Opened> => connected(await createInstance(options), 'SELECT 1');
    return new Database(null, open, await open());
  }

  /**
   * Runs one statement on the writing connection, outside any transaction.
   * @throws DiskFullError
   */
  async run(sql: string, values: readonly SqlParameter[] = []): Promise<void> {
    await this.use('writer', (connection) => runOn(connection, sql, values));
  }

  /**
   * Runs one small statement on a connection of its own: it need not wait for a long transaction,
   * whose rows it must not touch.
   * @throws DiskFullError
   */
  async runAside(sql: string, values: readonly SqlValue[] = []): Promise<void> {
    await this.use('aside', (connection) => runOn(connection, sql, values));
  }

  /** Reads rows on one of the reading connections; it sees what is committed. */
  async rows(sql: string, values: readonly SqlParameter[] = []): Promise<SqlRow[]> {
    return this.use('readers', (connection) => rowsOn(connection, sql, values));
  }

  /**
   * Runs `body` in one transaction on the writing connection: committed when it resolves, rolled
   * back when it throws. Transactions wait for one another.
   * @throws DiskFullError
   */
  async transaction<T>(body: (tx: Statements) => Promise<T>): Promise<T> {
    return this.use('writer', async (connection) => {
      await connection.run('BEGIN TRANSACTION');
      try {
        const result = await body({
          run: (sql, values = []) => runOn(connection, sql, values),
          rows: (sql, values = []) => rowsOn(connection, sql, values),
          chunks: (sql, values = []) => chunksOn(connection, sql, values),
          append: (table, rows) => appendOn(connection, table, rows),
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
   * Yields a query's rows a vector at a time, so that a large result never stands in memory; a chunk
   * is to be read before the next is asked for. One result at a time is read so, others wait: whoever
   * reads one must not ask for another before its end.
   */
  async *streamChunks(
    sql: string,
    values: readonly SqlParameter[] = [],
  ): AsyncGenerator<ResultChunk> {
    const opened = this.usable();
    const { lane: connection, giveBack } = await opened.streams.lend();
    try {
      yield* chunksOn(connection, sql, values);
    } catch (error) {
      throw this.noticed(error, opened);
    } finally {
      giveBack();
    }
  }

  /**
   * Writes what the log holds into the file. DuckDB never does so by itself while it is open: where
   * a checkpoint fails it refuses all work, and a commit that brought one about is then lost.
   * @throws DiskFullError; the database is then opened anew, with all that was committed
   */
  async checkpoint(): Promise<void> {
    // DuckDB refuses it while anything else writes, a small write aside too; by force it waits for
    // what a transaction that has just ended leaves to be done.
    await this.use('writer', (connection) =>
      this.opened.aside.use(() => runOn(connection, 'FORCE CHECKPOINT store', [])),
    );
  }

  /** Waits for running statements, then closes; the file's log is written into it. */
  async close(): Promise<void> {
    this.closed = true;
    await this.reopening?.catch(() => undefined);
    await closeOpened(this.opened);
    if (this.file !== null) releaseFile(this.file);
  }

  private async use<T>(
    lanes: 'readers' | 'writer' | 'aside',
    body: (connection: DuckDBConnection) => Promise<T>,
  ): Promise<T> {
    const opened = this.usable();
    try {
      return await opened[lanes].use(body);
    } catch (error) {
      throw this.noticed(error, opened);
    }
  }

  private usable(): Opened {
    const { opened } = this;
    if (opened.invalidated) this.reopen();
    // Nobody waits for it: whoever holds a connection may be what it waits for.
    if (this.reopening !== null) throw new Error('the database is being opened anew');
    return opened;
  }

  /** What a failure is to the caller, after what it means to the instance has been seen to. */
  private noticed(error: unknown, opened: Opened): unknown {
    const text = error instanceof Error ? error.message : '';
    if (/has been invalidated/i.test(text)) opened.invalidated = true;
    if (this.opened.invalidated) this.reopen();
    if (!/No space left|File too large|quota exceeded/i.test(text)) return error;
    return new DiskFullError(this.file ?? 'the database in memory');
  }

  private reopen(): void {
    if (this.closed || this.reopening !== null) return;
    const before = this.opened;
    this.reopening = closeOpened(before)
      .then(async () => {
        this.opened = await this.open();
      })
      // It stays invalidated, and the next caller has it opened once more.
      .catch(() => undefined)
      .finally(() => {
        this.reopening = null;
      });
  }
}

async function openAttached(path: string, options: DatabaseOptions): Promise<Opened> {
  const instance = await createInstance(options);
  try {
    const attaching = await instance.connect();
    await attaching.run(
      `ATTACH '${path.replaceAll("'", "''")}' AS store (STORAGE_VERSION 'v1.4.0', ROW_GROUP_SIZE ${ROW_GROUP_ROWS})`,
    );
    await attaching.run('SET enable_external_access = false');
    await attaching.run('SET lock_configuration = true');
    attaching.closeSync();
    return await connected(instance, 'USE store');
  } catch (error) {
    instance.closeSync();
    throw namedError(error, path);
  }
}

async function connected(instance: DuckDBInstance, first: string): Promise<Opened> {
  const connect = async (): Promise<DuckDBConnection> => {
    const connection = await instance.connect();
    await connection.run(first);
    return connection;
  };
  const readers = await Promise.all(Array.from({ length: READERS }, connect));
  const writer = new Lanes([await connect()]);
  const aside = new Lanes([await connect()]);
  const streams = new Lanes([await connect()]);
  return {
    instance,
    readers: new Lanes(readers),
    writer,
    aside,
    streams,
    invalidated: false,
    closed: false,
  };
}

async function closeOpened(opened: Opened): Promise<void> {
  if (opened.closed) return;
  opened.closed = true;
  for (const lanes of [opened.readers, opened.writer, opened.aside, opened.streams]) {
    for (const connection of await lanes.close()) connection.closeSync();
  }
  opened.instance.closeSync();
}

async function createInstance(options: DatabaseOptions): Promise<DuckDBInstance> {
  return DuckDBInstance.create(':memory:', instanceSettings(options));
}

async function runOn(
  connection: DuckDBConnection,
  sql: string,
  values: readonly SqlParameter[],
): Promise<void> {
  await connection.run(sql, ...bindings(values));
}

async function rowsOn(
  connection: DuckDBConnection,
  sql: string,
  values: readonly SqlParameter[],
): Promise<SqlRow[]> {
  const reader = await connection.runAndReadAll(sql, ...bindings(values));
  return reader.getRows().map((row) => row.map(plainValue));
}

async function* chunksOn(
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

async function appendOn(
  connection: DuckDBConnection,
  table: string,
  rows: readonly (readonly SqlValue[])[],
): Promise<void> {
  // One for all of the rows: each keeps its memory until it is collected, closed or not.
  const appender = await connection.createAppender(table);
  for (let first = 0; first < rows.length; first += ROWS_A_TURN) {
    if (first > 0) await nextTurn();
    for (const row of rows.slice(first, first + ROWS_A_TURN)) {
      for (const value of row) appendTo(appender, value);
      appender.endRow();
    }
    appender.flushSync();
  }
  appender.closeSync();
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

function bindings(values: readonly SqlParameter[]): [DuckDBValue[]?, DuckDBType[]?] {
  if (values.length === 0) return [];
  return [values.map(parameterValue), values.map(parameterType)];
}

function parameterValue(value: SqlParameter): DuckDBValue {
  return isList(value) ? listValue(Array.from<string | number>(value)) : boundValue(value);
}

function parameterType(value: SqlParameter): DuckDBType {
  if (!isList(value)) return boundType(value);
  return LIST(value instanceof Uint32Array ? UINTEGER : VARCHAR);
}

function isList(value: SqlParameter): value is readonly string[] | Uint32Array<ArrayBuffer> {
  return Array.isArray(value) || value instanceof Uint32Array;
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
