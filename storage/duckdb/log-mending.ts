/**
 * What is done about DuckDB's log before DuckDB replays it: what an unfinished commit left is cut off, and a
 * log that lost commits is refused, unless it is accepted. What is cut is kept in a file beside it.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DamagedLogError } from '../errors.js';
import { wallMs } from '../wall-clock.js';
import { writeWhole } from '../whole-file.js';
import { readLog } from './log-frames.js';

export interface LogOptions {
  /** Whether a damaged log is cut at its last whole commit, instead of being refused. */
  acceptDamagedLog?: boolean | undefined;
  /** Called with what was cut and where it is kept, and if a log stays when the database is closed. */
  onLogNotice?: ((text: string) => void) | undefined;
}

/** Copies of torn ends that stay; those of damaged logs all do. */
export const MAX_TORN_COPIES = 10;

export function logOf(database: string): string {
  return `${database}.wal`;
}

/** A file that says that commits are in the log: if the log is blank then, they were lost. */
function markOf(database: string): string {
  return `${logOf(database)}.begun`;
}

/** Says that commits are in the log; without room for it, nothing does. */
export async function markLog(database: string): Promise<void> {
  await writeFile(markOf(database), '').catch(() => undefined);
}

/** Takes the mark away where the log is gone: what was in it is in the database. */
export async function unmarkLog(database: string): Promise<void> {
  if (!existsSync(logOf(database))) await rm(markOf(database), { force: true });
}

/**
 * Leaves a log that ends with a commit, or none. Call while no other process can open the database.
 * @param unreadable why DuckDB could not replay it
 * @throws DamagedLogError
 */
export async function mendLog(
  database: string,
  { acceptDamagedLog = false, onLogNotice }: LogOptions,
  unreadable?: string,
): Promise<void> {
  const log = logOf(database);
  // Another process may have closed the database since.
  if (!existsSync(log)) return unmarkLog(database);
  const bytes = await readFile(log);
  const { state, wholeBytes } = readLog(bytes);
  const keptBytes = unreadable === undefined ? wholeBytes : 0;
  const isLost =
    unreadable !== undefined ||
    state === 'damaged' ||
    (state === 'blank' && existsSync(markOf(database)));
  // DuckDB makes the file some time before it writes to it.
  if (!isLost && (state === 'whole' || bytes.length === 0)) return;
  if (isLost && !acceptDamagedLog) {
    if (unreadable !== undefined) {
      throw new DamagedLogError(`${log} cannot be replayed by DuckDB: ${unreadable}`);
    }
    throw new DamagedLogError(
      state === 'blank'
        ? `${log} is blank, and there were commits in it`
        : `${log} is damaged from byte ${keptBytes} of ${bytes.length} on, where commits follow`,
    );
  }
  const copy = await cut(log, bytes, keptBytes, isLost ? 'damaged' : 'torn');
  onLogNotice?.(
    `${log}: cut ${bytes.length - keptBytes} bytes behind the last whole commit at byte ${keptBytes}, ` +
      `${isLost ? 'where it was damaged: what was committed there is lost' : 'of a commit that was not finished'}; they are kept in ${copy}`,
  );
  await unmarkLog(database);
}

/** Cuts a log, of which nothing may stay, and keeps what is cut. @returns where */
async function cut(
  log: string,
  bytes: Uint8Array,
  keptBytes: number,
  what: 'torn' | 'damaged',
): Promise<string> {
  const copy = `${log}.${what}-${new Date(wallMs()).toISOString().replaceAll(/[-:]/g, '')}`;
  if (keptBytes === 0) {
    // Needs no room.
    await rename(log, copy);
  } else {
    await writeWhole(copy, bytes.subarray(keptBytes));
    await truncate(log, keptBytes);
  }
  const torn = (await readdir(path.dirname(log)))
    .filter((name) => name.startsWith(`${path.basename(log)}.torn-`))
    .sort();
  for (const name of torn.slice(0, -MAX_TORN_COPIES)) await rm(path.join(path.dirname(log), name));
  return copy;
}
