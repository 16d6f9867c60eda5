/** The log of an open database: it is kept short, marked, and watched for changes by other programs. */
import { existsSync, type Stats, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { DamagedDataError, DiskFullError } from '../errors.js';
import { DiskRoom, type RoomListener } from './disk-room.js';
import { DuckDBError } from './duckdb-error.js';
import { Lanes } from './lanes.js';
import { logOf, markLog, unmarkLog } from './log-mending.js';
import type { DatabaseOptions } from './opening.js';

const MIB = 1024 * 1024;
/** A log shorter than this is not worth a checkpoint. */
const LOG_BYTES = 16 * MIB;
/** DuckDB takes up to ten times a log's size in memory until the checkpoint, and needs some for its work. */
const MEMORY_PER_LOG = 32;
/** Greatest size of the log: DuckDB holds its rows in memory too. */
const MAX_LOG_BYTES = 128 * MIB;

export class OpenLog {
  readonly room: DiskRoom;
  private readonly name: string;
  /** The state of the log when last recorded; undefined if there was none. */
  private noted: Stats | undefined;
  /** Whether the holder's file states that the log has commits. */
  private isMarked = false;
  /** A checkpoint has met a damaged block of the database. */
  private isDamaged = false;
  private readonly holds = new Lanes([null]);
  private readonly longBytes: number;

  /**
   * @param file of the open database
   * @param checkpoint writes the log into the file
   */
  constructor(
    private readonly file: string,
    private readonly options: RoomListener & DatabaseOptions,
    private readonly checkpoint: () => Promise<void>,
  ) {
    this.longBytes = Math.min(LOG_BYTES, (options.memoryLimitMiB * MIB) / MEMORY_PER_LOG);
    this.name = logOf(file);
    this.room = new DiskRoom(file, options);
    this.note();
  }

  /** Whether the log is still the recorded one: between checkpoints it only grows. */
  get isIntact(): boolean {
    const { noted } = this;
    if (noted === undefined) return true;
    const found = this.look();
    return found?.dev === noted.dev && found.ino === noted.ino && found.size >= noted.size;
  }

  /** Call after the database was opened again. */
  opened(): void {
    this.isMarked = false;
    this.note();
  }

  /** Call after a commit. @returns whether the log has it, because no other program changed the log */
  async committed(): Promise<boolean> {
    if (!this.isMarked) this.isMarked = await markLog(this.file);
    const { isIntact } = this;
    if (isIntact) this.note();
    return isIntact;
  }

  /** Call after a checkpoint. @param wasIntact whether the log was intact just before */
  async checkpointed(wasIntact: boolean): Promise<void> {
    // DuckDB would append to a foreign file with that name.
    if (!wasIntact) await rm(this.name, { force: true });
    this.room.checkpointed();
    this.opened();
  }

  /** Call after the database was closed, unless another file has its name now. */
  async closed(isReadOnly: boolean): Promise<void> {
    if (!isReadOnly) await unmarkLog(this.file);
    if (existsSync(this.name)) {
      this.options.onNotice?.(
        `${this.name} could not be written into the database, and stays: the next start reads it (is the disk full?)`,
      );
    }
  }

  /**
   * Until the returned function is called, only the caller makes checkpoints, unless the log reaches its limit. Callers
   * wait for one another.
   * @returns a function that ends the hold
   */
  async hold(): Promise<() => void> {
    return (await this.holds.lend()).giveBack;
  }

  /**
   * Writes a long log into the file; call while nothing is being committed. If the disk has too little space, the log
   * remains and may grow up to MAX_LOG_BYTES.
   * @throws DiskFullError if the log has reached that size
   * @throws DamagedDataError if it has, and a block of the file is damaged
   */
  async shorten(): Promise<void> {
    const logBytes = await this.room.logBytes();
    if (logBytes < (this.holds.allInUse ? MAX_LOG_BYTES : this.longBytes)) return;
    if (this.isDamaged) {
      if (logBytes < MAX_LOG_BYTES) return;
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
    if (logBytes < MAX_LOG_BYTES) return;
    await this.room.refused();
    throw new DiskFullError(this.file);
  }

  /**
   * Writes the log into the file if there is room: a failed checkpoint would reopen the database.
   * @throws DiskFullError if there is not
   */
  async writeIfRoom(): Promise<void> {
    if ((await this.room.logBytes()) > 0 && !(await this.room.takesCheckpoint())) {
      throw new DiskFullError(this.file);
    }
    await this.checkpoint();
  }

  /**
   * Saves the content of a log that is not intact: DuckDB still has all of it in memory, but would continue a log that no
   * start can read.
   * @throws DiskFullError
   */
  async save(): Promise<void> {
    await this.writeIfRoom();
    this.options.onNotice?.(
      `${this.name} was removed, shortened or replaced while it was open: what it held has been written into the database`,
    );
  }

  private note(): void {
    this.noted = this.look();
  }

  private look(): Stats | undefined {
    return statSync(this.name, { throwIfNoEntry: false });
  }
}
