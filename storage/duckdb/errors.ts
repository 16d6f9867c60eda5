/** Why a database cannot be opened or written, from what DuckDB says of it. */
import { DiskFullError } from '../errors.js';

/** Another process holds the file. */
export class DatabaseLockedError extends Error {}
/** The file is no database, or a damaged one. */
export class DatabaseDamagedError extends Error {}

/** What a failure to open the file, or to read it right behind that, says of it. */
export function namedError(error: unknown, path: string): Error {
  if (error instanceof DatabaseLockedError || error instanceof DatabaseDamagedError) return error;
  const text = error instanceof Error ? error.message : String(error);
  if (saysDiskFull(text)) return new DiskFullError(path);
  if (/set lock on file/i.test(text)) {
    return new DatabaseLockedError(`${path} is in use by another process`);
  }
  if (/^IO Error|Serialization|not a valid DuckDB|corrupt|checksum/i.test(text)) {
    const reason = text.split('\n')[0].replace(/^[A-Za-z ]*Error:\s*/, '');
    return new DatabaseDamagedError(`${path} cannot be opened: ${reason}`);
  }
  return error instanceof Error ? error : new Error(text);
}

/** Whether DuckDB could not write for want of room. */
export function saysDiskFull(text: string): boolean {
  return /No space left|File too large|quota exceeded/i.test(text);
}
