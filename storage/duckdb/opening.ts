/** An instance of DuckDB with its connections: how it comes to be, and how it ends. */
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { stat } from 'node:fs/promises';
import { namedError, saysDiskFull } from './errors.js';
import { instanceSettings, type DatabaseOptions } from './instance-settings.js';
import { Lanes } from './lanes.js';
import { ROW_GROUP_ROWS } from './row-groups.js';

/** Reading connections; below libuv's four threads, so that a full set starves nobody. */
const READERS = 2;

/** An instance with its connections. */
export interface Opened {
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

/**
 * Opens (or creates) a database file, after its log has been mended where there is one.
 * @param isReopened whether this process had it open until now: DuckDB has taken back what it could
 *   not commit, so where a full disk keeps the log from being mended it is taken as it is
 * @throws DatabaseLockedError while another process has it open
 * @throws DatabaseDamagedError where the file cannot be read as a database
 */
export async function openAttached(
  path: string,
  options: DatabaseOptions,
  isReopened: boolean,
): Promise<Opened> {
  const instance = await createInstance(options);
  try {
    if (await hasLog(path)) {
      await mendLog(path, options).catch((error: unknown) => {
        if (!isReopened || !saysDiskFull(String(error))) throw error;
      });
    }
    const attaching = await instance.connect();
    await attach(attaching, path);
    await attaching.run('SET enable_external_access = false');
    await attaching.run('SET lock_configuration = true');
    attaching.closeSync();
    return await connected(instance, 'USE store');
  } catch (error) {
    instance.closeSync();
    throw namedError(error, path);
  }
}

/** Attaches a file, as `store`, and replays its log. */
async function attach(connection: DuckDBConnection, path: string): Promise<void> {
  await connection.run(
    `ATTACH '${path.replaceAll("'", "''")}' AS store (STORAGE_VERSION 'v1.4.0', ROW_GROUP_SIZE ${ROW_GROUP_ROWS})`,
  );
}

/** Whether a process that ended without closing the file has left its log. */
async function hasLog(path: string): Promise<boolean> {
  return stat(`${path}.wal`).then(
    () => true,
    () => false,
  );
}

/**
 * Cuts off the log what a process that was killed has left of its last commit. DuckDB passes over an
 * unfinished commit when it replays a log, but keeps the row groups that the commit had written out
 * beforehand (its pull request 25931), and takes it from the log with the next commit only: so one is
 * made here that changes nothing, and all else that came of this replay is thrown away.
 */
async function mendLog(path: string, options: DatabaseOptions): Promise<void> {
  const instance = await createInstance(options);
  const connection = await instance.connect();
  try {
    await attach(connection, path);
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

/** A database in memory alone. */
export async function openInMemory(options: DatabaseOptions): Promise<Opened> {
  return connected(await createInstance(options), 'SELECT 1');
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

/** Waits for running statements, then closes; closing twice does nothing more. */
export async function closeOpened(opened: Opened): Promise<void> {
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
