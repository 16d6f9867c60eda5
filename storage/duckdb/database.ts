/** A DuckDB instance for one file, with a fixed set of connections. */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { identityOf } from '../disk.js';
import { DiskFullError, StoreUnavailableError } from '../errors.js';
import { type Meta, readMeta, writeMeta } from '../meta.js';
import type { Connection } from './connection.js';
import { DuckDBError } from './duckdb-error.js';
import {
  closeOpened,
  openAttached,
  openAttachedReadOnly,
  type DatabaseOptions,
  type FaultListeners,
  type Opened,
} from './opening.js';
import { StoreLock } from './store-lock.js';
import { Wal } from './wal.js';
import type { ResultChunk, SqlRow, SqlValue, Statements, StoredValue } from './statements.js';

/** Most attempts to reopen a failed database until a write succeeds. */
export const MAX_REOPENINGS = 8;
/** The pause before the second attempt; it doubles with each further one. */
const REOPEN_DELAY_MS = 250;

/** The key of `meta` that counts commits. */
const COMMITS_KEY = 'commits';

export class Database implements Pick<Statements, 'run' | 'rows' | 'values'> {
  private reopening: Promise<void> = Promise.resolve();
  private closed = false;
  /** Attempts to reopen since the last successful write. */
  private reopenings = 0;
  private readonly ending = new AbortController();
  /** Number of transactions known to this process, as counted in `meta`; null if they are not counted. */
  private commits: number | null = null;
  private readonly file: string;
  /** Identity of the opened file: its name may later belong to another file. */
  private readonly identity: string | null;
  readonly wal: Wal;
  /** Why DuckDB rejected the WAL when the file was opened; null if it did not. */
  readonly rejectedWal: string | null;

  private constructor(
    private readonly lock: StoreLock,
    private readonly reopenFile: () => Promise<Opened>,
    private opened: Opened,
    private readonly options: FaultListeners & DatabaseOptions,
  ) {
    this.file = lock.file;
    this.identity = identityOf(this.file);
    this.rejectedWal = opened.rejectedWal;
    this.wal = new Wal(this.file, options, () => this.checkpoint());
  }

  /**
   * Opens (or creates) the database file for reading and writing.
   * @throws DatabaseLockedError if another process, or this one, has it open
   * @throws DatabaseDamagedError if the file cannot be read as a database
   */
  static async openFile(
    file: string,
    options: DatabaseOptions & FaultListeners,
  ): Promise<Database> {
    const lock = await StoreLock.take(file, options.onLost);
    try {
      const open = (): Promise<Opened> => openAttached(file, options);
      return new Database(lock, open, await open(), options);
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  /**
   * Opens the database file for reading, with the commits in its WAL. Neither file changes.
   * @throws DatabaseLockedError | DatabaseDamagedError
   */
  static async openReadOnly(file: string, options: DatabaseOptions): Promise<Database> {
    const lock = await StoreLock.share(file);
    try {
      const open = (): Promise<Opened> => openAttachedReadOnly(file, options);
      return new Database(lock, open, await open(), options);
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  /**
   * Runs one statement on the writing connection, outside any transaction.
   * @throws DiskFullError
   */
  run(sql: string, values?: readonly SqlValue[]): Promise<void> {
    return this.write('writer', (connection) => connection.run(sql, values));
  }

  /**
   * Runs a few small statements in one transaction on a separate connection. They do not wait for a long transaction, and
   * must not touch rows that it changes.
   * @throws DiskFullError
   */
  shortTransaction<T>(body: (tx: Statements) => Promise<T>): Promise<T> {
    return this.write('aside', (connection) => this.inTransaction(connection, body, false));
  }

  /** Reads committed rows on one of the reading connections. */
  rows(sql: string, values?: readonly SqlValue[]): Promise<SqlRow[]> {
    return this.use('readers', (connection) => connection.rows(sql, values));
  }

  /** Reads values kept in parts, on one of the reading connections. */
  values(sql: string): Promise<Map<number, StoredValue>> {
    return this.use('readers', (connection) => connection.values(sql));
  }

  /**
   * Runs `body` in one transaction on the writing connection: commits if it resolves, rolls back if it
   * throws. Transactions wait for one another.
   * @throws DiskFullError
   */
  async transaction<T>(body: (tx: Statements) => Promise<T>): Promise<T> {
    return this.write('writer', (connection) => this.inTransaction(connection, body));
  }

  /**
   * Like transaction(), but shortTransaction() waits for it as well.
   * @throws DiskFullError
   */
  async exclusiveTransaction<T>(body: (tx: Statements) => Promise<T>): Promise<T> {
    return this.write('writer', (connection) =>
      this.opened.aside.use(() => this.inTransaction(connection, body)),
    );
  }

  /**
   * Counts transactions in `meta` from now on: after a COMMIT that failed, only the count tells whether the database has it.
   */
  async countCommits(meta: Meta): Promise<void> {
    const stored = commitsIn(meta);
    if (stored === null) await writeMeta(this, COMMITS_KEY, '0');
    this.commits = stored ?? 0;
  }

  /**
   * Runs `body` in one transaction that is always rolled back.
   * @throws DiskFullError
   */
  async rehearsal<T>(body: (tx: Statements) => Promise<T>): Promise<T> {
    return this.use('writer', async (connection) => {
      await connection.run('BEGIN TRANSACTION');
      try {
        return await body(connection);
      } finally {
        await connection.run('ROLLBACK').catch(() => undefined);
      }
    });
  }

  /**
   * Yields a query's rows one vector at a time: a large result is never in memory as a whole. Use a chunk before reading
   * the next one. Only one result at a time is read this way: starting a second one inside the loop over the first
   * would wait forever.
   */
  async *streamChunks(sql: string, values?: readonly SqlValue[]): AsyncGenerator<ResultChunk> {
    const opened = this.usable();
    const { thing: connection, giveBack } = await opened.streams.lend();
    try {
      yield* connection.stream(sql, values);
    } catch (error) {
      throw this.errorToThrow(error, opened);
    } finally {
      giveBack();
    }
  }

  /**
   * Writes the WAL into the file. DuckDB's automatic checkpoints are off: after a failed one, it would refuse all work
   * and lose the commit that triggered it (duckdb/duckdb#8997; the loss: 1.4.5).
   * @param movesMetadata whether to rewrite the description of unchanged rows too, which may be at the end of the file
   * @throws DiskFullError after opening the database again with everything that was committed
   */
  async checkpoint(movesMetadata = false): Promise<void> {
    // DuckDB refuses a checkpoint while anything else writes, so both writing connections are taken.
    // FORCE waits for the clean-up of a transaction that has just ended.
    await this.use('writer', (connection) =>
      this.opened.aside.use(async () => {
        this.lock.check();
        await connection.run(`SET experimental_metadata_reuse = ${!movesMetadata}`);
        await connection.run('FORCE CHECKPOINT store');
        this.wal.checkpointed();
      }),
    );
  }

  /**
   * Another program can remove, move or replace an open file. What DuckDB writes to that file afterwards is lost when it
   * is closed.
   * @throws StoreUnavailableError if the name no longer belongs to the opened file, or another process may write to the
   *   store
   */
  checkFile(): void {
    this.lock.check();
    if (identityOf(this.file) === this.identity) return;
    throw new StoreUnavailableError(
      `${this.file} was removed or replaced while it was open: nothing can be stored until it is put back`,
    );
  }

  get directory(): string {
    return path.dirname(this.file);
  }

  /** Waits for running statements, writes the WAL into the file, and closes it. */
  async close(): Promise<void> {
    const isHeld = this.lock.isIntact;
    if (!isHeld) await this.leaveWal();
    await this.end();
    const found = identityOf(this.file);
    // If another file has the name now, nothing beside it belongs to this database.
    const isOurs = found === null || found === this.identity;
    if (isHeld && isOurs) this.wal.closed();
    await this.lock.release();
  }

  /**
   * Closes the file without writing to it, and leaves nothing beside it.
   * @param remove deletes the file while no other process can open it
   */
  async discard(remove: () => Promise<void>): Promise<void> {
    await this.leaveWal();
    await remove();
    await this.end();
    await this.lock.remove();
  }

  private async end(): Promise<void> {
    this.closed = true;
    this.ending.abort();
    await this.reopening;
    await closeOpened(this.opened);
  }

  /** Prevents DuckDB from writing the WAL into the file when it closes the file. */
  private async leaveWal(): Promise<void> {
    const leave = 'PRAGMA disable_checkpoint_on_shutdown';
    await this.opened.writer.use((writer) => writer.run(leave)).catch(() => undefined);
  }

  private async inTransaction<T>(
    connection: Connection,
    body: (tx: Statements) => Promise<T>,
    isCounted = true,
  ): Promise<T> {
    await connection.run('BEGIN TRANSACTION');
    try {
      const result = await body(connection);
      const commits = this.commits === null ? null : this.commits + 1;
      if (isCounted && commits !== null) {
        const count = `UPDATE meta SET value = ? WHERE key = '${COMMITS_KEY}'`;
        await connection.run(count, [String(commits)]);
      }
      await connection.run('COMMIT');
      if (isCounted) this.commits = commits;
      return result;
    } catch (error) {
      // A failed COMMIT has already rolled back: ROLLBACK then fails.
      await connection.run('ROLLBACK').catch(() => undefined);
      throw error;
    }
  }

  /** Runs `body`, which commits, as long as this process holds the store. */
  private async write<T>(
    on: 'writer' | 'aside',
    body: (connection: Connection) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.use(on, async (connection) => {
        this.checkFile();
        const result = await body(connection);
        // If the store was lost in the meantime, nothing may be acknowledged.
        this.lock.check();
        this.reopenings = 0;
        return result;
      });
    } catch (error) {
      if (error instanceof DiskFullError) await this.wal.room.refused();
      throw error;
    }
  }

  private async use<T>(
    on: 'readers' | 'writer' | 'aside',
    body: (connection: Connection) => Promise<T>,
  ): Promise<T> {
    const opened = this.usable();
    try {
      return await opened[on].use(body);
    } catch (error) {
      throw this.errorToThrow(error, opened);
    }
  }

  private usable(): Opened {
    const { opened } = this;
    // Waiting for the reopening could last forever: the reopening waits for all connections, and the caller may hold
    // one.
    if (opened.invalidated) throw new StoreUnavailableError('the database is being reopened');
    return opened;
  }

  /** The error to throw for a failure; starts reopening the database if DuckDB refuses all work. */
  private errorToThrow(error: unknown, opened: Opened): unknown {
    // Errors from elsewhere may contain any text, DuckDB's included.
    if (!(error instanceof DuckDBError)) return error;
    if (error.isFatal && !opened.invalidated) {
      opened.invalidated = true;
      // Reported once, until a write succeeds again.
      if (this.reopenings === 0) this.options.onFault?.(error);
      if (!this.closed) this.reopening = this.reopen(error);
    }
    if (error.isDiskFull) return new DiskFullError(this.file);
    if (error.isOutOfMemory) {
      return new StoreUnavailableError(`the database is out of memory: ${error.reason}`, {
        cause: error,
      });
    }
    if (!error.isFatal) return error;
    return new StoreUnavailableError(`the database failed and is being reopened: ${error.reason}`, {
      cause: error,
    });
  }

  private async reopen(cause: unknown): Promise<void> {
    try {
      await closeOpened(this.opened);
      const reopened = await this.retryOpening(cause);
      if (reopened === null) return;
      const stored = this.commits === null ? null : commitsIn(await reopened.readers.use(readMeta));
      reopened.invalidated = stored !== this.commits;
      this.opened = reopened;
      if (!reopened.invalidated) return;
      throw new Error(
        `the database holds commit ${stored}, but the last one that succeeded in this process is ${this.commits}: the next start reads what is stored`,
      );
    } catch (error) {
      this.options.onLost?.(error);
    }
  }

  /** Null if the database was closed in the meantime. @throws the error of the last attempt, or the cause */
  private async retryOpening(cause: unknown): Promise<Opened | null> {
    for (let latest = cause; !this.closed;) {
      // A full disk may last; the store goes on once there is room.
      if (this.reopenings >= MAX_REOPENINGS && !isFull(latest)) throw latest;
      if (this.reopenings > 0) {
        const doublings = Math.min(this.reopenings, MAX_REOPENINGS) - 1;
        const pauseMs = REOPEN_DELAY_MS * 2 ** doublings;
        await sleep(pauseMs, undefined, { signal: this.ending.signal }).catch(() => undefined);
      }
      this.reopenings++;
      try {
        // DuckDB would create a missing file.
        this.checkFile();
        return await this.reopenFile();
      } catch (error) {
        latest = error;
      }
    }
    return null;
  }
}

function isFull(error: unknown): boolean {
  return error instanceof DiskFullError || (error instanceof DuckDBError && error.isDiskFull);
}

function commitsIn(meta: Meta): number | null {
  const commits = meta.get(COMMITS_KEY);
  return commits === undefined ? null : Number(commits);
}
