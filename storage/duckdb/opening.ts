/** Opens a DuckDB instance with its connections, and closes it. */
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, lstat, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { syncFile } from '../disk.js';
import { DiskFullError, InputError, isDiskFull, StoreUnavailableError } from '../errors.js';
import { client, walOf } from './client.js';
import { Connection } from './connection.js';
import type { RoomListener } from './disk-room.js';
import { called, duckdbErrorIn } from './duckdb-error.js';
import { Lender } from '../lender.js';
import { ROW_GROUP_ROWS } from './statements.js';

/** Reading connections: fewer than libuv's four threads, some of which other work needs. */
const READERS = 2;
/** Follows the name of a database under construction, before a random id. */
const UNFINISHED = '.new-';
/** What follows it: the id, and the database's WAL. */
const UNFINISHED_ENDING = /^[0-9a-f-]{36}(\.wal)?$/;
/** How a file is attached for writing. */
const FOR_WRITING = `STORAGE_VERSION 'v1.4.0', ROW_GROUP_SIZE ${ROW_GROUP_ROWS}`;
/** A size of the WAL that is never reached. */
const NEVER = '1000TB';

/** The limits of an instance. */
export interface InstanceOptions {
  memoryLimitMiB: number;
  threads: number;
}

export interface DatabaseOptions extends InstanceOptions {
  /** Called with what an operator should know, such as that a WAL remains when the database is closed. */
  onNotice?: ((text: string) => void) | undefined;
}

export interface FaultListeners extends RoomListener {
  /** Called with the cause after the database failed, before it is opened again. */
  onFault?: ((error: unknown) => void) | undefined;
  /** Called if it cannot be reopened, or has other commits than this process knows: the process must end. */
  onLost?: ((error: unknown) => void) | undefined;
}

export interface Opened {
  instance: DuckDBInstance;
  readers: Lender<Connection>;
  writer: Lender<Connection>;
  /** For small writes during a long transaction. */
  aside: Lender<Connection>;
  /** For results that are read while they are produced: a slow reader does not block other readers. */
  streams: Lender<Connection>;
  /** Why DuckDB rejected the WAL, which is set aside then; null if it did not. */
  rejectedWal: string | null;
  /** The database has failed: DuckDB refuses all work until the file is opened again. */
  invalidated: boolean;
  closed: boolean;
}

/** Another process holds the file. */
export class DatabaseLockedError extends Error {}
/** The file is damaged, or not a database. */
export class DatabaseDamagedError extends Error {}

/** Where a WAL is put that DuckDB rejects. */
function rejectedWalOf(database: string): string {
  return `${walOf(database)}.rejected`;
}

/** Undoes that a WAL was set aside. Call after the database was closed. */
export async function putBackWal(database: string): Promise<void> {
  await rename(rejectedWalOf(database), walOf(database));
}

/** Classifies a failure to open the file, or to read it right afterwards. */
export function namedError(error: unknown, file: string): Error {
  if (error instanceof DatabaseLockedError || error instanceof DatabaseDamagedError) return error;
  if (error instanceof InputError) return error;
  if (isDiskFull(error)) return new DiskFullError(file);
  const duckdb = duckdbErrorIn(error);
  if (duckdb === null) return error instanceof Error ? error : new Error(String(error));
  if (duckdb.isDiskFull) return new DiskFullError(file);
  if (duckdb.isLock) return new DatabaseLockedError(`${file} is in use by another process`);
  if (!duckdb.isFileError) return duckdb;
  return new DatabaseDamagedError(`${file} cannot be opened: ${duckdb.reason}`);
}

/**
 * Opens (or creates) a database file. Without a WAL that DuckDB rejects: what was committed is in the log, too. Call
 * while the store is locked.
 * @throws DatabaseLockedError if a reading process, or one of an earlier version, has it open
 * @throws DatabaseDamagedError if the file cannot be read as a database
 */
export async function openAttached(file: string, options: DatabaseOptions): Promise<Opened> {
  return opened(file, options, async (attaching) => {
    if (!existsSync(file)) {
      if (existsSync(walOf(file)))
        throw new DatabaseDamagedError(`${file} is missing, and its WAL is not`);
      await makeFile(attaching, file);
    }
    await refuseLinkedWal(file);
    const rejectedWal = await attach(attaching, file).then(
      () => null,
      (error: unknown) => attachWithoutWal(attaching, file, error, options),
    );
    await removeUnfinished(file);
    return rejectedWal;
  });
}

/** @throws InputError if the WAL is a link: DuckDB would overwrite what it leads to */
async function refuseLinkedWal(file: string): Promise<void> {
  const wal = walOf(file);
  const found = await lstat(wal).catch(() => null);
  if (found?.isSymbolicLink() !== true) return;
  throw new InputError(`${wal} is a link: put the file that it leads to in its place`);
}

/**
 * @param error of attaching the file with its WAL
 * @returns why DuckDB rejected the WAL
 */
async function attachWithoutWal(
  attaching: DuckDBConnection,
  file: string,
  error: unknown,
  { onNotice }: DatabaseOptions,
): Promise<string> {
  const duckdb = duckdbErrorIn(error);
  const mayBeWal = duckdb !== null && !duckdb.isLock && !duckdb.isDiskFull && !duckdb.isOutOfMemory;
  if (!mayBeWal || !existsSync(walOf(file))) throw error;
  await rename(walOf(file), rejectedWalOf(file));
  await attach(attaching, file).catch(async () => {
    await putBackWal(file);
    throw error;
  });
  onNotice?.(
    `${walOf(file)} cannot be read by DuckDB and is kept as ${rejectedWalOf(file)}: ${duckdb.reason}`,
  );
  return duckdb.reason;
}

/**
 * Opens a database file only for reading.
 * @throws DatabaseLockedError | DatabaseDamagedError
 * @throws StoreUnavailableError if a process has to open it for writing first
 */
export async function openAttachedReadOnly(
  file: string,
  options: DatabaseOptions,
): Promise<Opened> {
  return opened(file, options, async (attaching) => {
    try {
      await attach(attaching, file, 'READ_ONLY');
    } catch (error) {
      if (duckdbErrorIn(error)?.isWalError !== true) throw error;
      throw new StoreUnavailableError(
        `${walOf(file)} cannot be read: start the server, or run any command that opens the store, which restores it from the log`,
      );
    }
    return null;
  });
}

async function opened(
  file: string,
  options: DatabaseOptions,
  attachTo: (connection: DuckDBConnection) => Promise<string | null>,
): Promise<Opened> {
  const instance = await createInstance(options);
  const attaching = await instance.connect();
  try {
    const rejectedWal = await attachTo(attaching);
    await attaching.run('SET enable_external_access = false');
    return { ...(await connected(instance)), rejectedWal };
  } catch (error) {
    instance.closeSync();
    throw namedError(error, file);
  } finally {
    // Until each connection is closed, DuckDB keeps the file open and locked.
    attaching.closeSync();
  }
}

/** Waits for running statements, then closes; closing twice is harmless. */
export async function closeOpened(opened: Opened): Promise<void> {
  if (opened.closed) return;
  opened.closed = true;
  for (const lender of [opened.readers, opened.writer, opened.aside, opened.streams]) {
    for (const connection of await lender.close()) connection.close();
  }
  opened.instance.closeSync();
}

export function createInstance(options: InstanceOptions): Promise<DuckDBInstance> {
  return client.DuckDBInstance.create(':memory:', {
    memory_limit: `${options.memoryLimitMiB}MiB`,
    threads: String(options.threads),
    // DuckDB must not write beside the file.
    temp_directory: '',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    // Writes a row group as soon as it is full; by default five stay in memory.
    write_buffer_row_group_count: '1',
    wal_autocheckpoint: NEVER,
    // DuckDB does not count rows added by the running transaction: it would swap the sides of a join with them and hash
    // a whole table. In our joins the right side is the smaller one.
    disabled_optimizers: 'build_side_probe_side',
  });
}

/**
 * Attaches a file and replays its WAL; by default for writing and under the name `store`. Without a type, DuckDB looks
 * for an extension that reads a file of another program.
 */
export async function attach(
  connection: DuckDBConnection,
  file: string,
  mode: string = FOR_WRITING,
  alias = 'store',
): Promise<void> {
  await called(() => connection.run(`ATTACH ${quoted(file)} AS ${alias} (TYPE DUCKDB, ${mode})`));
}

/**
 * Creates a database under another name and names it `file` once it is whole on the disk: at any moment, a file with
 * that name can be opened. A file that another process created in the meantime stays.
 * @throws DatabaseLockedError if another process has removed the unfinished one
 */
export async function makeFile(connection: DuckDBConnection, file: string): Promise<void> {
  const id = randomUUID();
  const unfinished = `${file}${UNFINISHED}${id}`;
  // One instance may create several at once.
  const alias = `made_${id.replaceAll('-', '')}`;
  try {
    await attach(connection, unfinished, FOR_WRITING, alias);
    // DuckDB syncs a file that it creates.
    await called(() => connection.run(`DETACH ${alias}`));
    // Unlike renaming, linking does not replace a file.
    await link(unfinished, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return;
      if (error.code !== 'ENOENT') throw error;
      throw new DatabaseLockedError(`${file} is being made by another process`);
    });
  } finally {
    await rm(unfinished, { force: true });
  }
  await syncFile(path.dirname(file));
}

/** Removes what processes killed in makeFile() have left. */
export async function removeUnfinished(file: string): Promise<void> {
  const directory = path.dirname(file);
  for (const name of await readdir(directory)) {
    const begin = `${path.basename(file)}${UNFINISHED}`;
    if (name.startsWith(begin) && UNFINISHED_ENDING.test(name.slice(begin.length)))
      await rm(path.join(directory, name), { force: true });
  }
}

/** A name in SQL. */
function quoted(file: string): string {
  return `'${file.replaceAll("'", "''")}'`;
}

async function connected(instance: DuckDBInstance): Promise<Omit<Opened, 'rejectedWal'>> {
  const connections: Connection[] = [];
  const connect = async (): Promise<Connection> => {
    const connection = new Connection(await instance.connect());
    connections.push(connection);
    await connection.run('USE store');
    return connection;
  };
  try {
    const readers: Connection[] = [];
    for (let i = 0; i < READERS; i++) readers.push(await connect());
    return {
      instance,
      readers: new Lender(readers),
      writer: new Lender([await connect()]),
      aside: new Lender([await connect()]),
      streams: new Lender([await connect()]),
      invalidated: false,
      closed: false,
    };
  } catch (error) {
    for (const connection of connections) connection.close();
    throw error;
  }
}
