/** One instance of DuckDB over one file, with a fixed set of connections. */
import { stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { DiskFullError } from '../errors.js';
import type { Connection } from './connection.js';
import {
  claimFile,
  closeOpened,
  openAttached,
  openInMemory,
  releaseFile,
  saysDiskFull,
  type DatabaseOptions,
  type Opened,
} from './opening.js';
import type {
  ResultChunk,
  SqlParameter,
  SqlRow,
  SqlValue,
  Statements,
  StoredValue,
} from './statements.js';

/** A shorter log is not worth a checkpoint. */
const LOG_BYTES = 16 * 1024 * 1024;
/** Greatest size of the log: DuckDB keeps in memory what stands in it alone. */
const MAX_LOG_BYTES = 128 * 1024 * 1024;
/** Free bytes that a checkpoint may need: for each byte of the log, and for the last row group. */
const ROOM_PER_LOG_BYTE = 4;
const SPARE_ROOM_BYTES = 32 * 1024 * 1024;

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
  static async openFile(file: string, options: DatabaseOptions): Promise<Database> {
    const claimed = await claimFile(file);
    try {
      const open = (isReopened: boolean): Promise<Opened> =>
        openAttached(file, options, isReopened);
      return new Database(claimed, () => open(true), await open(false));
    } catch (error) {
      releaseFile(claimed);
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
  run(sql: string, values?: readonly SqlParameter[]): Promise<void> {
    return this.use('writer', (connection) => connection.run(sql, values));
  }

  /**
   * Runs one small statement on a connection of its own: it need not wait for a long transaction,
   * whose rows it must not touch.
   * @throws DiskFullError
   */
  runAside(sql: string, values?: readonly SqlValue[]): Promise<void> {
    return this.use('aside', (connection) => connection.run(sql, values));
  }

  /** Reads committed rows on one of the reading connections. */
  rows(sql: string, values?: readonly SqlParameter[]): Promise<SqlRow[]> {
    return this.use('readers', (connection) => connection.rows(sql, values));
  }

  /** Reads values that are kept in parts, on one of the reading connections. */
  values(sql: string): Promise<Map<number, StoredValue>> {
    return this.use('readers', (connection) => connection.values(sql));
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
        const result = await body(connection);
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
   * Yields a query's rows a vector at a time, so that a large result never stands in memory; read a
   * chunk before asking for the next. One result at a time is read this way and others wait, so its
   * reader must not start another before its end.
   */
  async *streamChunks(sql: string, values?: readonly SqlParameter[]): AsyncGenerator<ResultChunk> {
    const opened = this.usable();
    const { lane: connection, giveBack } = await opened.streams.lend();
    try {
      yield* connection.chunks(sql, values);
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
      this.opened.aside.use(() => connection.run('FORCE CHECKPOINT store')),
    );
  }

  /**
   * Writes a long log into the file. To be called while nothing is being committed. Where the disk
   * has too little room the log stays, and commits go on for as long as it may grow.
   * @throws DiskFullError where it may not
   */
  async shortenLog(): Promise<void> {
    if (this.file === null) return;
    const logBytes = await stat(`${this.file}.wal`).then(
      ({ size }) => size,
      () => 0,
    );
    if (logBytes < LOG_BYTES) return;
    const { bavail, bsize } = await statfs(path.dirname(this.file));
    if (bavail * bsize >= logBytes * ROOM_PER_LOG_BYTE + SPARE_ROOM_BYTES) {
      await this.checkpoint();
    } else if (logBytes >= MAX_LOG_BYTES) {
      throw new DiskFullError(this.file);
    }
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
    body: (connection: Connection) => Promise<T>,
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
    // Nobody waits for it: the caller may hold the very connection that it waits for.
    if (this.reopening !== null) throw new Error('the database is being opened anew');
    return opened;
  }

  /** The error to be thrown for a failure, once the instance has been dealt with. */
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
