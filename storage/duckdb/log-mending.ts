/**
 * Mends DuckDB's log before DuckDB replays it: cuts off the remains of an unfinished commit, and refuses a log that lost
 * commits unless the operator accepts the loss. It keeps what it cuts in a file beside the log.
 */
import { existsSync } from 'node:fs';
import { type FileHandle, open, readdir, readFile, rename, rm, truncate } from 'node:fs/promises';
import path from 'node:path';
import { writeWhole } from '../disk.js';
import { absent, DamagedLogError, isDiskFull } from '../errors.js';
import { wallMs } from '../wall-clock.js';
import { logMark, writeLogMark } from './holder-file.js';
import { checkpointsBefore, readLog } from './log-frames.js';

export interface LogOptions {
  /** Whether to cut a damaged log at its last whole commit instead of refusing it. */
  acceptDamagedLog?: boolean | undefined;
  /**
   * Called with what an operator should know: what was cut and where it is kept, that a log remains when the database is
   * closed.
   */
  onNotice?: ((text: string) => void) | undefined;
  /** Called before the store goes on without commits that clients may have seen. */
  beforeLoss?: (() => Promise<unknown>) | undefined;
}

/** Copies of torn ends to keep. All copies of damaged logs are kept. */
export const MAX_TORN_COPIES = 10;

/** When a copy was made. */
const TIME_IN_NAME = /^\d{8}T\d{6}\.\d{3}Z$/;

/** What a disk writes or loses as a whole. */
const SECTOR_BYTES = 512;
/** Fewer zeros may be the end of an unfinished commit, such as of a number in it. */
const LEAST_BLANK_BYTES = 16;
/** A log's header takes 30 to 60 bytes. */
const LOG_HEADER_BYTES = 128;
/** Positions of the numbers in a DuckDB file's two heads. Checkpoints write the heads in turn. */
const CHECKPOINT_NUMBERS_AT = [4096 + 8, 8192 + 8];

export function logOf(database: string): string {
  return `${database}.wal`;
}

/**
 * Records that the log has commits, and which state of the database they follow.
 * @returns whether it succeeded: a commit that changed nothing begins no log, and a failed mark fails no commit
 */
export async function markLog(database: string): Promise<boolean> {
  const log = await open(logOf(database)).catch(() => null);
  if (log === null) return false;
  const { buffer } = await log
    .read(Buffer.alloc(LOG_HEADER_BYTES), 0, LOG_HEADER_BYTES, 0)
    .finally(() => log.close());
  return writeLogMark(database, checkpointsBefore(buffer)).then(
    () => true,
    () => false,
  );
}

/** Forgets a log that is gone. Its commits are in the database, or were given up. */
export async function unmarkLog(database: string): Promise<void> {
  if (!existsSync(logOf(database)) && logMark(database) !== null)
    await writeLogMark(database, null);
}

/** Whether a process that did not close the database may have left a log. */
export function mayHaveLog(database: string): boolean {
  return existsSync(logOf(database)) || logMark(database) !== null;
}

/** What is wrong with a log. */
export interface LogFault {
  /** Why commits are lost; null if they are not. */
  loss: string | null;
  /** Null if the log is missing. */
  bytes: Buffer | null;
  /** Where its last whole commit ends. */
  keptBytes: number;
}

/**
 * Checks whether a log is whole, without changing anything.
 * @param database its file, open for reading
 * @param unreadable why DuckDB could not replay it
 * @returns null if it is whole, or missing without a mark
 */
export async function logFault(
  database: FileHandle,
  file: string,
  unreadable?: string,
): Promise<LogFault | null> {
  const log = logOf(file);
  // The mark is read before the log and the database's head: a checkpoint changes the head, then removes the log.
  const mark = logMark(file);
  const bytes = await readFile(log).catch(absent);
  const isMarked = mark !== null && mark === String(await checkpointsOf(database));
  if (bytes === null) {
    const loss = `${log} is missing, and there were commits in it`;
    return isMarked ? { loss, bytes, keptBytes: 0 } : null;
  }
  if (unreadable !== undefined) {
    return { loss: `${log} cannot be replayed by DuckDB: ${unreadable}`, bytes, keptBytes: 0 };
  }
  const { state, wholeBytes } = readLog(bytes);
  if (state === 'whole') return null;
  let loss: string | null = null;
  if (state === 'damaged') {
    loss = `${log} is damaged from byte ${wholeBytes} of ${bytes.length} on, where commits follow`;
  } else if (wholeBytes === 0 && isMarked) {
    loss = `${log} is ${state === 'blank' ? 'blank' : 'damaged from its first commit on'}, and there were commits in it`;
  }
  // DuckDB creates the file some time before it writes to it.
  if (loss === null && bytes.length === 0) return null;
  return { loss, bytes, keptBytes: wholeBytes };
}

/** How many checkpoints a database has had: each changes one of two numbers in its head. */
async function checkpointsOf(database: FileHandle): Promise<bigint> {
  const numbers = await Promise.all(
    CHECKPOINT_NUMBERS_AT.map(async (at) => {
      const { buffer } = await database.read(Buffer.alloc(8), 0, 8, at);
      return buffer.readBigUInt64LE();
    }),
  );
  return numbers[0] > numbers[1] ? numbers[0] : numbers[1];
}

/**
 * Ensures that a log, if there is one, ends with a commit. Call while no other process can open the database.
 * @throws DamagedLogError
 */
export async function mendLog(
  file: string,
  { loss, bytes, keptBytes }: LogFault,
  { acceptDamagedLog = false, onNotice, beforeLoss }: LogOptions,
): Promise<void> {
  if (loss !== null && !acceptDamagedLog) throw new DamagedLogError(loss);
  const mayBeLoss = loss !== null || (bytes !== null && endsInZeros(bytes));
  if (mayBeLoss) {
    await beforeLoss?.().catch((error: unknown) => {
      // A full disk leaves such an end, too, and must not keep a store whose commits are there from being opened.
      if (loss !== null || !isDiskFull(error)) throw error;
    });
  }
  const log = logOf(file);
  if (bytes === null) {
    onNotice?.(`${log} is missing: the commits there are lost, load their files again`);
    return;
  }
  const copy = await cut(log, bytes, keptBytes, loss === null ? 'torn' : 'damaged');
  let what = 'of a commit that was not finished; every commit before it is there';
  if (loss !== null) {
    what = 'where it was damaged: the commits there are lost, load their files again';
  } else if (mayBeLoss) {
    what =
      'which end in zeros; every commit before them is there; if the disk lost what it had confirmed, acknowledged commits were there: compare with the records of what was loaded';
  }
  const kept =
    copy === null ? 'the disk has no room for what was cut' : `what was cut is kept in ${copy}`;
  onNotice?.(
    `${log}: cut ${bytes.length - keptBytes} bytes from byte ${keptBytes} on, ${what}; ${kept}`,
  );
}

/** Whether a log's last sector is blank: it was never written, or its disk has lost it. */
function endsInZeros(bytes: Uint8Array): boolean {
  const lastSectorAt = Math.floor((bytes.length - 1) / SECTOR_BYTES) * SECTOR_BYTES;
  const blankFrom = Math.max(0, Math.min(lastSectorAt, bytes.length - LEAST_BLANK_BYTES));
  return bytes.subarray(blankFrom).every((byte) => byte === 0);
}

/**
 * Cuts a log, possibly all of it, and keeps a copy of what it cuts; of a torn end only if the disk has room.
 * @returns the copy's name; null: there is none
 */
async function cut(
  log: string,
  bytes: Uint8Array,
  keptBytes: number,
  what: 'torn' | 'damaged',
): Promise<string | null> {
  let copy: string | null =
    `${log}.${what}-${new Date(wallMs()).toISOString().replaceAll(/[-:]/g, '')}`;
  if (keptBytes === 0) {
    // Renaming needs no room.
    await rename(log, copy);
  } else {
    await writeWhole(copy, bytes.subarray(keptBytes)).catch(async (error: unknown) => {
      if (what !== 'torn' || !isDiskFull(error)) throw error;
      await rm(`${copy}.new`, { force: true });
      copy = null;
    });
    await truncate(log, keptBytes);
  }
  const begin = `${path.basename(log)}.torn-`;
  const torn = (await readdir(path.dirname(log)))
    .filter((name) => name.startsWith(begin) && TIME_IN_NAME.test(name.slice(begin.length)))
    .sort();
  for (const name of torn.slice(0, -MAX_TORN_COPIES)) await rm(path.join(path.dirname(log), name));
  return copy;
}
