/** A data directory: what it contains, without opening the store; creating and completely removing it. */
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { InputError, StoreBusyError } from './errors.js';

/** The database's name within a data directory. */
export const DATABASE_FILE = 'fathom.duckdb';
/** DuckDB's write-ahead log: commits that are not yet in the database. */
export const WAL_FILE = `${DATABASE_FILE}.wal`;
/** The database of a backup that is not complete. */
export const PARTIAL_FILE = `${DATABASE_FILE}.partial`;
/** The secret with which digests of keys are made. */
export const PEPPER_FILE = 'pepper';
/** The folder of a single server's log. */
export const LOG_FOLDER = 'log';
/** The file that probe() writes. */
export const PROBE_FILE = '.probe';
/** The files of a store; the database last, because without it there is no store. */
export const STORE_FILES = [PEPPER_FILE, LOG_FOLDER, WAL_FILE, DATABASE_FILE];

/** Whether the directory holds a store. @throws the system's error if this user may not look into it */
export async function holdsStore(directory: string): Promise<boolean> {
  return stat(path.join(directory, DATABASE_FILE)).then(
    (found) => found.isFile(),
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return false;
      throw error;
    },
  );
}

/**
 * Finds a remaining file of a store whose database is gone. A store's database is created first and removed last.
 * @returns the file's name, or null
 */
async function remainsOfStore(directory: string): Promise<string | null> {
  let left: string | undefined;
  // Twice, because another process may be removing a store that it has just created.
  for (let look = 0; look < 2; look++) {
    const names: string[] = await readdir(directory).catch(() => []);
    left = STORE_FILES.find((name) => names.includes(name));
    if (left === undefined || (await holdsStore(directory))) return null;
  }
  return left ?? null;
}

/** @throws InputError if a directory without a database has remains of a store or of a backup */
export async function refuseRemains(directory: string): Promise<void> {
  if (existsSync(path.join(directory, PARTIAL_FILE))) {
    throw new InputError(`${directory} holds a backup that was not completed`);
  }
  const left = await remainsOfStore(directory);
  if (left === null) return;
  throw new InputError(
    `${directory} held a store whose database is gone: ${left} is there, ${DATABASE_FILE} is not. Put the database back, or restore a backup into an empty directory; for a new store, move ${left} away`,
  );
}

/** Directories created by this process. */
const made = new Set<string>();

/**
 * Creates a directory and its missing parents. With `recursive`, mkdir would try forever where the system allows no
 * new directory, as in /proc.
 * @throws InputError there
 */
export async function makeDirectory(directory: string): Promise<void> {
  if (await madeDirectory(directory)) return;
  const parent = path.dirname(directory);
  if (parent !== directory) await makeDirectory(parent);
  if (!(await madeDirectory(directory))) {
    throw new InputError(`${directory}: no directory can be made there`);
  }
}

/** Names inside a data directory, and what file systems put into their root. */
const OWN_NAMES =
  /^(fathom\.|pepper$|staging$|log$|fragments$|archived$|demo\.json$|\.probe$|lost\+found$)/;

/** Names in a message; the rest is left out. */
const SHOWN_NAMES = 3;

/** @throws InputError if a directory without a store holds what is neither Fathom's nor the file system's */
export async function refuseForeignFiles(directory: string): Promise<void> {
  if (await holdsStore(directory)) return;
  // What cannot be listed fails when the store is opened, with its own message.
  const names: string[] = await readdir(directory).catch(() => []);
  const foreign = names.filter((name) => !OWN_NAMES.test(name)).sort();
  if (foreign.length === 0) return;
  const shown =
    foreign.slice(0, SHOWN_NAMES).join(', ') + (foreign.length > SHOWN_NAMES ? ', ...' : '');
  throw new InputError(
    `${directory} holds other files (${shown}): the demo market needs a directory of its own; name a new or empty one with --data`,
  );
}

/**
 * Closes a data directory and its files to everyone but the owner. A directory that also holds other things, such as
 * /tmp or a home, keeps its mode: others may need it.
 * @throws StoreBusyError if the directory is gone: the command that made it has removed it with its empty store
 */
export async function makePrivate(directory: string): Promise<void> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    throw new StoreBusyError(`${directory} is being removed`);
  });
  if (names.every((name) => OWN_NAMES.test(name))) await restrict(directory, 0o700);
  for (const name of STORE_FILES) {
    await restrict(path.join(directory, name), name === LOG_FOLDER ? 0o700 : 0o600);
  }
}

/** Ignores files that are missing or belong to another user, as on a mounted volume. */
async function restrict(name: string, mode: number): Promise<void> {
  try {
    await chmod(name, mode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined || !['ENOENT', 'EPERM', 'EROFS', 'ENOTSUP'].includes(code)) throw error;
  }
}

/** Creates a directory unless it exists. @returns false if its parent is missing */
async function madeDirectory(directory: string): Promise<boolean> {
  try {
    await mkdir(directory, { mode: 0o700 });
    made.add(path.resolve(directory));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return false;
    if (code !== 'EEXIST') throw error;
  }
  return true;
}

/** Removes a directory and its parents, as far as this process created them and they are empty. */
export async function removeMadeDirectories(directory: string): Promise<void> {
  for (let at = path.resolve(directory); made.has(at); at = path.dirname(at)) {
    const isGone = await rmdir(at).then(
      () => true,
      () => false,
    );
    if (!isGone) return;
    made.delete(at);
  }
}
