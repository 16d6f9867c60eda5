/**
 * The lock that decides which process writes to a store. DuckDB locks the database file, but POSIX drops all locks that
 * a process has on a file as soon as the process closes any descriptor of that file. So a store is held by a file
 * beside it, `fathom.lock`, which only this module opens. Node cannot lock files: it is a small DuckDB database,
 * attached while the store is held.
 */
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { existsSync } from 'node:fs';
import { realpath, rm } from 'node:fs/promises';
import path from 'node:path';
import { identityOf } from '../disk.js';
import { StoreUnavailableError } from '../errors.js';
import { client } from './client.js';
import { duckdbErrorIn } from './duckdb-error.js';
import {
  attach,
  DatabaseDamagedError,
  DatabaseLockedError,
  makeFile,
  namedError,
  removeUnfinished,
} from './opening.js';

/** DuckDB needs little memory to hold a file. */
const INSTANCE = { threads: '1', memory_limit: '16MiB', temp_directory: '' };

/** This process's lock is gone, or another process has taken the store. */
class StoreLostError extends StoreUnavailableError {}

interface Held {
  connection: DuckDBConnection;
  /** The name under which the file is attached. */
  alias: string;
  /** Identifies the file. */
  identity: string;
}

/** Holds all lock files of this process: creating an instance takes longer than attaching a file. */
let lockInstance: Promise<DuckDBInstance> | null = null;
/** Number of files attached so far: each gets a different alias. */
let attachments = 0;

/** Databases that this process holds: POSIX locks only exclude other processes. */
const claimed = new Set<string>();

export class StoreLock {
  private isLost = false;

  private constructor(
    /** The database's real name. */
    readonly file: string,
    /** Null after release, and for a reader that found no lock file. */
    private held: Held | null,
    /** Whether it was taken only for reading. */
    private readonly isShared: boolean,
    private readonly onLost?: (error: Error) => void,
  ) {}

  /**
   * Takes a database for writing; no other process can open it until release().
   * @param onLost called once another process may write to the store
   * @throws DatabaseLockedError if another process, or this one, has it
   */
  static take(database: string, onLost?: (error: Error) => void): Promise<StoreLock> {
    return claiming(database, async (file) => {
      const held = await hold(lockFileOf(file));
      try {
        await removeUnfinished(lockFileOf(file));
        return new StoreLock(file, held, false, onLost);
      } catch (error) {
        await detach(held);
        throw error;
      }
    });
  }

  /**
   * Takes a database for reading; other readers may have it too. A store that no process has opened for writing yet, such
   * as a backup, has no lock file.
   * @throws DatabaseLockedError if a process has it for writing, or this one has it
   */
  static share(database: string): Promise<StoreLock> {
    return claiming(database, async (file) => {
      const name = lockFileOf(file);
      return new StoreLock(file, existsSync(name) ? await hold(name, 'READ_ONLY') : null, true);
    });
  }

  /** @throws StoreLostError if another process may write to the store */
  check(): void {
    const why = this.whyLost();
    if (why === null) return;
    const error = new StoreLostError(why);
    if (!this.isLost) this.onLost?.(error);
    this.isLost = true;
    throw error;
  }

  /** Whether check() passes. */
  get isIntact(): boolean {
    try {
      this.check();
      return true;
    } catch {
      return false;
    }
  }

  private whyLost(): string | null {
    if (this.held === null || this.isShared) return null;
    const name = lockFileOf(this.file);
    if (identityNow(name, this.held.identity) === this.held.identity) return null;
    return `${name} was removed or replaced: this process no longer holds the store, and stops writing to it`;
  }

  /** Lets other processes open the database. Call after DuckDB has closed it. */
  async release(): Promise<void> {
    const held = this.held;
    this.held = null;
    if (held !== null) await detach(held);
    claimed.delete(this.file);
  }

  /** Releases the lock of a database that was deleted, and removes its file. */
  async remove(): Promise<void> {
    await rm(lockFileOf(this.file), { force: true });
    await this.release();
  }
}

/** The identity of a file; the known one if the system cannot tell, such as without memory. */
function identityNow(name: string, known: string): string | null {
  try {
    return identityOf(name);
  } catch {
    return known;
  }
}

function lockFileOf(database: string): string {
  return `${database.replace(/\.duckdb$/, '')}.lock`;
}

async function claiming(
  database: string,
  take: (file: string) => Promise<StoreLock>,
): Promise<StoreLock> {
  const directory = await realpath(path.dirname(database)).catch((error: NodeJS.ErrnoException) => {
    // The command that created it has just removed it.
    if (error.code !== 'ENOENT') throw error;
    throw new DatabaseLockedError(`${database} is being removed`);
  });
  const file = path.join(directory, path.basename(database));
  if (claimed.has(file)) throw new DatabaseLockedError(`${database} is in use by this process`);
  claimed.add(file);
  try {
    return await take(file);
  } catch (error) {
    claimed.delete(file);
    throw error;
  }
}

/**
 * Attaches the lock file: DuckDB locks it.
 * @throws DatabaseLockedError if another process has it, or if the last one that claimed it has removed it
 */
async function hold(name: string, mode?: 'READ_ONLY'): Promise<Held> {
  const instance = await (lockInstance ??= client.DuckDBInstance.create(':memory:', INSTANCE));
  const connection = await instance.connect();
  const alias = `held_${attachments++}`;
  try {
    if (mode === undefined && !existsSync(name)) await makeFile(connection, name);
    const before = identityOf(name);
    await attach(connection, name, mode, alias);
    // The last process that claimed it may have removed the file while DuckDB was opening it.
    const identity = identityOf(name);
    if (identity === null || identity !== before) {
      throw new DatabaseLockedError(`${name} is being removed`);
    }
    return { connection, alias, identity };
  } catch (error) {
    await detach({ connection, alias });
    if (!existsSync(path.dirname(name))) {
      throw new DatabaseLockedError(`${name} is being removed`);
    }
    const named = namedError(error, name);
    if (named instanceof DatabaseLockedError) throw named;
    // The failure may have made the instance unusable. Its locks stay with their connections.
    lockInstance = null;
    if (!(named instanceof DatabaseDamagedError)) throw named;
    throw new DatabaseDamagedError(
      existsSync(name)
        ? `${named.message}\nit holds no data: delete it while no Fathom process uses the directory`
        : `${path.dirname(name)} cannot be written: ${duckdbErrorIn(error)?.reason}`,
    );
  }
}

/** DuckDB closes a file as soon as it is detached. */
async function detach({ connection, alias }: Pick<Held, 'connection' | 'alias'>): Promise<void> {
  try {
    await connection.run(`DETACH DATABASE IF EXISTS ${alias}`);
  } finally {
    connection.closeSync();
  }
}
