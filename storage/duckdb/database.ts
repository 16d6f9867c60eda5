/**
 * A Database is one instance of DuckDB over one file, with a fixed set of connections that each run
 * one statement at a time.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { DiskFullError } from '../errors.js';
import {
  chunksOn,
  type ResultChunk,
  rowsOn,
  runOn,
  type SqlParameter,
  type SqlRow,
  type SqlValue,
  type Statements,
  statementsOn,
  type StoredValue,
} from './connection.js';
import {
  claimFile,
  closeOpened,
  type DatabaseOptions,
  openAttached,
  type Opened,
  openInMemory,
  releaseFile,
  saysDiskFull,
} from './opening.js';
import { valuesOn } from './values.js';

export { MAX_VALUE_BYTES } from './opening.js';
export type { ResultChunk, SqlRow, SqlValue, Statements } from './connection.js';

export class Database implements Pick<Statements, 'run' | 'rows' | 'values'> {
  private reopening: Promise<void> | null = null;
  private closed = false;

  private constructor(
    /** The file as this process knows it, or null in memory. */
    private readonly file: string | null,
    private readonly reopenFile: () => Promise<Opened>,
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
      const open = (isReopened: boolean): Promise<Opened> =>
        openAttached(path, options, isReopened);
      return new Database(file, () => open(true), await open(false));
    } catch (error) {
      releaseFile(file);
      throw error;
    }
  }

  /** A database in memory alone, for reading files with DuckDB's readers. */
  static async openMemory(options: DatabaseOptions): Promise<Database> {
    const open = (): Promise<Opened> => openInMemory(options);
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

  /** Reads values that are kept in parts, on one of the reading connections. */
  async values(sql: string): Promise<Map<number, StoredValue>> {
    return this.use('readers', (connection) => valuesOn(connection, sql));
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
        const result = await body(statementsOn(connection));
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
    if (!saysDiskFull(text)) return error;
    return new DiskFullError(this.file ?? 'the database in memory');
  }

  private reopen(): void {
    if (this.closed || this.reopening !== null) return;
    const before = this.opened;
    this.reopening = closeOpened(before)
      .then(async () => {
        this.opened = await this.reopenFile();
      })
      // It stays invalidated, and the next caller has it opened once more.
      .catch(() => undefined)
      .finally(() => {
        this.reopening = null;
      });
  }
}
