/** Writes the database's log into its file from time to time, while there is room for that. */
import { stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import type { Database } from './duckdb/database.js';
import { DiskFullError } from './errors.js';

/** Size of the log from which on it is worth it. */
const LOG_BYTES = 16 * 1024 * 1024;
/** Greatest size of the log: what stands in it alone, DuckDB keeps in memory. */
const MAX_LOG_BYTES = 128 * 1024 * 1024;
/** Free bytes that a checkpoint may need: for each byte of the log, and for the last row group. */
const ROOM_PER_LOG_BYTE = 4;
const SPARE_ROOM_BYTES = 32 * 1024 * 1024;

export class Checkpoints {
  constructor(
    private readonly database: Pick<Database, 'checkpoint'>,
    /** The database's file. */
    private readonly file: string,
  ) {}

  /**
   * Writes a long log into the file. To be called while nothing is being committed. Where the disk
   * has too little room the log stays, and commits go on for as long as it may grow.
   * @throws DiskFullError where it may not
   */
  async shortenLog(): Promise<void> {
    const logBytes = await stat(`${this.file}.wal`).then(
      ({ size }) => size,
      () => 0,
    );
    if (logBytes < LOG_BYTES) return;
    const { bavail, bsize } = await statfs(path.dirname(this.file));
    if (bavail * bsize >= logBytes * ROOM_PER_LOG_BYTE + SPARE_ROOM_BYTES) {
      await this.database.checkpoint();
    } else if (logBytes >= MAX_LOG_BYTES) {
      throw new DiskFullError(this.file);
    }
  }
}
