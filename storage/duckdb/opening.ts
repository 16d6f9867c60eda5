/** An instance of DuckDB with its connections: how it is opened, its log mended, and closed. */
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { DiskFullError } from '../errors.js';
import { Connection } from './connection.js';
import { Lanes } from './lanes.js';
import { ROW_GROUP_ROWS } from './statements.js';

/** Reading connections; below libuv's four threads, so that a full set starves nobody. */
const READERS = 2;
/** Size of a log that no disk holds. */
const NEVER = '1000TB';

export interface DatabaseOptions {
  memoryLimitMiB: number;
  threads: number;
  /** Where DuckDB may spill; without one it never writes beside the file. */
  tempDirectory?: string;
}

/** An instance with its connections. */
export interface Opened {
  instance: DuckDBInstance;
  readers: Lanes<Connection>;
  writer: Lanes<Connection>;
  /** For small writes beside a long transaction. */
  aside: Lanes<Connection>;
  /** For results that are read while they are made: a slow reader keeps nobody else waiting. */
  streams: Lanes<Connection>;
  /** A checkpoint failed: DuckDB refuses all work until the file is opened anew. */
  invalidated: boolean;
  closed: boolean;
}

/** Another process holds the file. */
export class DatabaseLockedError extends Error {}
/** The file is no database, or a damaged one. */
export class DatabaseDamagedError extends Error {}

/** Names a failure to open the file, or to read it right after that. */
export function namedError(error: unknown, file: string): Error {
  if (error instanceof DatabaseLockedError || error instanceof DatabaseDamagedError) return error;
  const text = error instanceof Error ? error.message : String(error);
  if (saysDiskFull(text)) return new DiskFullError(file);
  if (/set lock on file/i.test(text)) {
    return new DatabaseLockedError(`${file} is in use by another process`);
  }
  if (/^IO Error|Serialization|not a valid DuckDB|corrupt|checksum/i.test(text)) {
    const reason = text.split('\n')[0].replace(/^[A-Za-z ]*Error:\s*/, '');
    return new DatabaseDamagedError(`${file} cannot be opened: ${reason}`);
  }
  return error instanceof Error ? error : new Error(text);
}

/** Whether DuckDB could not write because the disk is full. */
export function saysDiskFull(text: string): boolean {
  return /No space left|File too large|quota exceeded/i.test(text);
}

/**
 * Files that this process has open. The system's locks keep other processes out, not this one, and
 * two instances over one file lose rows.
 */
const openFiles = new Set<string>();

/**
 * Takes a file for one instance.
 * @returns the name to release it by
 * @throws DatabaseLockedError while this process has it open
 */
export async function claimFile(file: string): Promise<string> {
  const real = path.join(await realpath(path.dirname(file)), path.basename(file));
  if (openFiles.has(real)) throw new DatabaseLockedError(`${file} is in use by this process`);
  openFiles.add(real);
  return real;
}

/** Gives up what claimFile() returned. */
export function releaseFile(real: string): void {
  openFiles.delete(real);
}

/**
 * Opens (or creates) a database file, after its log has been mended where there is one.
 * @param isReopened whether this process had it open until now: DuckDB has taken back what it could
 *   not commit, so where a full disk keeps the log from being mended it is taken as it is
 * @throws DatabaseLockedError while another process has it open
 * @throws DatabaseDamagedError where the file cannot be read as a database
 */
export async function openAttached(
  file: string,
  options: DatabaseOptions,
  isReopened: boolean,
): Promise<Opened> {
  const instance = await createInstance(options);
  try {
    if (await hasLog(file)) {
      await mendLog(file, options).catch((error: unknown) => {
        if (!isReopened || !saysDiskFull(String(error))) throw error;
      });
    }
    const attaching = await instance.connect();
    await attach(attaching, file);
    await attaching.run('SET enable_external_access = false');
    await attaching.run('SET lock_configuration = true');
    attaching.closeSync();
    return await connected(instance, 'USE store');
  } catch (error) {
    instance.closeSync();
    throw namedError(error, file);
  }
}

/** A database in memory alone. */
export async function openInMemory(options: DatabaseOptions): Promise<Opened> {
  return connected(await createInstance(options), 'SELECT 1');
}

/** Waits for running statements, then closes; closing twice does nothing more. */
export async function closeOpened(opened: Opened): Promise<void> {
  if (opened.closed) return;
  opened.closed = true;
  for (const lanes of [opened.readers, opened.writer, opened.aside, opened.streams]) {
    for (const connection of await lanes.close()) connection.close();
  }
  opened.instance.closeSync();
}

function createInstance(options: DatabaseOptions): Promise<DuckDBInstance> {
  return DuckDBInstance.create(':memory:', {
    memory_limit: `${options.memoryLimitMiB}MiB`,
    threads: String(options.threads),
    temp_directory: options.tempDirectory ?? '',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    // A row group is written out as soon as it is full; the default keeps five in memory.
    write_buffer_row_group_count: '1',
    wal_autocheckpoint: NEVER,
    // Rows that a transaction has added are not counted, so that DuckDB would turn a join with them
    // around and hash all of a table. Here the right side of a join is the smaller one.
    disabled_optimizers: 'build_side_probe_side',
  });
}

/** Attaches a file, as `store`, and replays its log. */
async function attach(connection: DuckDBConnection, file: string): Promise<void> {
  await connection.run(
    `ATTACH '${file.replaceAll("'", "''")}' AS store (STORAGE_VERSION 'v1.4.0', ROW_GROUP_SIZE ${ROW_GROUP_ROWS})`,
  );
}

/** Whether a process that ended without closing the file has left its log. */
async function hasLog(file: string): Promise<boolean> {
  return stat(`${file}.wal`).then(
    () => true,
    () => false,
  );
}

/**
 * Cuts off the log what a killed process has left of its last commit. DuckDB passes over an
 * unfinished commit when it replays a log, but keeps the row groups that the commit had written out
 * beforehand (its pull request 25931), and drops them from the log only with the next commit: so one
 * that changes nothing is made here, and all else that came of this replay is thrown away.
 */
async function mendLog(file: string, options: DatabaseOptions): Promise<void> {
  const instance = await createInstance(options);
  const connection = await instance.connect();
  try {
    await attach(connection, file);
    await connection.run('PRAGMA disable_checkpoint_on_shutdown');
    await connection.run('USE store');
    await connection.run('BEGIN TRANSACTION');
    await connection.run('CREATE TABLE mended (log INTEGER)');
    await connection.run('DROP TABLE mended');
    await connection.run('COMMIT');
  } finally {
    // As long as it is open the file is locked.
    connection.closeSync();
    instance.closeSync();
  }
}

async function connected(instance: DuckDBInstance, first: string): Promise<Opened> {
  const connect = async (): Promise<Connection> => {
    const connection = new Connection(await instance.connect());
    await connection.run(first);
    return connection;
  };
  return {
    instance,
    readers: new Lanes(await Promise.all(Array.from({ length: READERS }, connect))),
    writer: new Lanes([await connect()]),
    aside: new Lanes([await connect()]),
    streams: new Lanes([await connect()]),
    invalidated: false,
    closed: false,
  };
}
