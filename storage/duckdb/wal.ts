/** DuckDB's WAL of an open database: what is in it is written into the file before it gets long. */
import { existsSync } from 'node:fs';
import { DamagedDataError, DiskFullError } from '../errors.js';
import { walOf } from './client.js';
import { DiskRoom, type RoomListener } from './disk-room.js';
import { DuckDBError } from './duckdb-error.js';
import { Mutex } from '../lender.js';
import type { DatabaseOptions } from './opening.js';

const MIB = 1024 * 1024;
/** A WAL shorter than this is not worth a checkpoint. */
const WAL_BYTES = 16 * MIB;
/** DuckDB takes up to ten times the WAL's size in memory until the checkpoint, and needs some for its work. */
const MEMORY_PER_WAL = 32;
/** Greatest size of the WAL: DuckDB holds its rows in memory too. */
const MAX_WAL_BYTES = 128 * MIB;
/** Size of the log's entries that a checkpoint lets go. */
const MAX_ENTRY_BYTES = 256 * MIB;

export class Wal {
  readonly room: DiskRoom;
  /** Called after each checkpoint. */
  onCheckpointed: (() => void) | null = null;
  /** Bytes of the log's entries that a checkpoint lets go. */
  entryBytes: () => number = () => 0;
  private readonly name: string;
  /** A checkpoint has met a damaged block of the database. */
  private isDamaged = false;
  private readonly holds = new Mutex();
  private readonly longBytes: number;

  /**
   * @param file of the open database
   * @param checkpoint writes the WAL into the file
   */
  constructor(
    private readonly file: string,
    private readonly options: RoomListener & DatabaseOptions,
    private readonly checkpoint: () => Promise<void>,
  ) {
    this.longBytes = Math.min(WAL_BYTES, (options.memoryLimitMiB * MIB) / MEMORY_PER_WAL);
    this.name = walOf(file);
    this.room = new DiskRoom(file, options);
  }

  /** Call after a checkpoint. */
  checkpointed(): void {
    this.room.checkpointed();
    this.onCheckpointed?.();
  }

  /** Call after the database was closed, unless another file has its name now. */
  closed(): void {
    if (existsSync(this.name)) {
      this.options.onNotice?.(
        `${this.name} could not be written into the database, and stays: the next start reads it (is the disk full?)`,
      );
    }
  }

  /**
   * Until the returned function is called, only the caller makes checkpoints, unless the WAL reaches its limit. Callers
   * wait for one another.
   * @returns a function that ends the hold
   */
  async hold(): Promise<() => void> {
    return (await this.holds.lend()).giveBack;
  }

  /**
   * Writes a long WAL into the file; call while nothing is being committed. If the disk has too little space, the WAL
   * remains and may grow up to MAX_WAL_BYTES.
   * @throws DiskFullError if the WAL has reached that size
   * @throws DamagedDataError if it has, and a block of the file is damaged
   */
  async shorten(): Promise<void> {
    const walBytes = await this.room.walBytes();
    const isLong = walBytes >= this.longBytes || this.entryBytes() >= MAX_ENTRY_BYTES;
    if (walBytes < MAX_WAL_BYTES && (this.holds.allLent || !isLong)) return;
    if (this.isDamaged) {
      if (walBytes < MAX_WAL_BYTES) return;
      throw new DamagedDataError(
        `${this.name} is full and cannot be written into ${this.file}, which has a damaged block: restore a backup`,
      );
    }
    if (await this.room.takesCheckpoint()) {
      await this.checkpoint().catch(async (error: unknown) => {
        if (error instanceof DiskFullError) {
          await this.room.postponed();
          await this.room.refused();
        }
        // Further checkpoints would fail too, and each would reopen the database.
        const { cause } = error as Error;
        this.isDamaged = cause instanceof DuckDBError && cause.isBlockDamage;
        throw error;
      });
      return;
    }
    await this.room.postponed();
    if (walBytes < MAX_WAL_BYTES) return;
    await this.room.refused();
    throw new DiskFullError(this.file);
  }

  /**
   * Writes the WAL into the file if there is room: a failed checkpoint would reopen the database.
   * @throws DiskFullError if there is not
   */
  async writeIfRoom(): Promise<void> {
    if ((await this.room.walBytes()) > 0 && !(await this.room.takesCheckpoint())) {
      throw new DiskFullError(this.file);
    }
    await this.checkpoint();
  }
}
