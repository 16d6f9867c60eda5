/**
 * The lock that decides which process writes to a store. DuckDB locks the database file, but POSIX drops all locks that
 * a process has on a file as soon as the process closes any descriptor of that file. So a store is held by a file
 * beside it, `fathom.lock`, which only this module opens. Node cannot lock files: it is a small DuckDB database,
 * attached while the store is held. The holder also writes its name into `fathom.holder`: a process that no longer
 * finds its name there has lost the store.
 */
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { realpath, rm } from 'node:fs/promises';
import path from 'node:path';
import { identityOf } from '../disk.js';
import { DiskFullError, isDiskFull, StoreUnavailableError } from '../errors.js';
import { client } from './client.js';
import { duckdbErrorIn } from './duckdb-error.js';
import { holderFileOf, holderName, removeHolderFile, writeHolderName } from './holder-file.js';
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
    /** The name that the holder's file must contain; null for readers. */
    private readonly holder: string | null,
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
        const name = `${process.pid} ${randomUUID()}`;
        await writeHolderName(file, name);
        return new StoreLock(file, held, name, onLost);
      } catch (error) {
        await detach(held);
        throw isDiskFull(error) ? new DiskFullError(holderFileOf(file)) : error;
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
      return new StoreLock(file, existsSync(name) ? await hold(name, 'READ_ONLY') : null, null);
    });
  }

  /** Whether it was taken only for reading. */
  get isShared(): boolean {
    return this.holder === null;
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
    if (this.held === null || this.holder === null) return null;
    const name = lockFileOf(this.file);
    if (identityOf(name) !== this.held.identity) {
      return `${name} was removed or replaced: this process no longer holds the store, and stops writing to it`;
    }
    const holder = this.holderNow();
    if (holder === this.holder) return null;
    const [pid] = (holder ?? '').split(' ');
    return `${path.dirname(this.file)} was taken by another process${/^\d+$/.test(pid) ? ` (${pid})` : ''}: this one no longer holds the store, and stops writing to it`;
  }

  /** The name in the holder's file. One that cannot be read, such as without descriptors, is no other process's. */
  private holderNow(): string | null {
    try {
      return holderName(this.file);
    } catch {
      return this.holder;
    }
  }

  /**
   * Lets other processes open the database. Call after DuckDB has closed it. The holder's file stays, because the next
   * holder can overwrite it on a full disk too. Its name is blanked: a command that changes nothing leaves every byte.
   */
  async release(): Promise<void> {
    const isHolder = this.holder !== null && this.holderNow() === this.holder;
    // A name that stays means nothing.
    if (isHolder) await writeHolderName(this.file, '').catch(() => undefined);
    const held = this.held;
    this.held = null;
    if (held !== null) await detach(held);
    claimed.delete(this.file);
  }

  /** Releases the lock of a database that was deleted, and removes the files of the lock. */
  async remove(): Promise<void> {
    await removeHolderFile(this.file);
    await rm(lockFileOf(this.file), { force: true });
    await this.release();
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
 * @throws DatabaseLockedError if another process has it, or if the last holder has removed it
 */
async function hold(name: string, mode?: 'READ_ONLY'): Promise<Held> {
  const instance = await (lockInstance ??= client.DuckDBInstance.create(':memory:', INSTANCE));
  const connection = await instance.connect();
  const alias = `held_${attachments++}`;
  try {
    if (mode === undefined && !existsSync(name)) await makeFile(connection, name);
    const before = identityOf(name);
    await attach(connection, name, mode, alias);
    // The last holder may have removed the file while DuckDB was opening it.
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
