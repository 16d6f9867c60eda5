/** Writes the database's log into its file from time to time, while there is room for that. */
import { stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import type { Database } from './duckdb/database.js';

/** Size of the log from which on it is worth it. */
const LOG_BYTES = 16 * 1024 * 1024;
/**
 * Free bytes that a checkpoint may need, for each byte of the log and beside them: it writes the
 * last row group anew. Without them the log stays, and commits go on until the disk is full.
 */
const ROOM_PER_LOG_BYTE = 4;
const SPARE_ROOM_BYTES = 32 * 1024 * 1024;

export class Checkpoints {
  constructor(
    private readonly database: Pick<Database, 'checkpoint'>,
    /** The database's file. */
    private readonly file: string,
  ) {}

  /** To be called behind a commit. @throws Error where the checkpoint failed */
  async afterCommit(): Promise<void> {
    const logBytes = await stat(`${this.file}.wal`).then(
      ({ size }) => size,
      () => 0,
    );
    if (logBytes < LOG_BYTES) return;
    const { bavail, bsize } = await statfs(path.dirname(this.file));
    const needed = logBytes * ROOM_PER_LOG_BYTE + SPARE_ROOM_BYTES;
    if (bavail * bsize >= needed) await this.database.checkpoint();
  }
}
