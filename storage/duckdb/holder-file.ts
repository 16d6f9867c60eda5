/**
 * The file beside a database that says which process holds it, and whether commits are in its log. A clean stop
 * removes it; what a killed process has left tells the next one that a log which is blank or missing lost commits.
 */
import { existsSync, readFileSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';

/**
 * The name and the mark each have a padded line. Once the file exists, writing either needs no new space: it works on a
 * full disk.
 */
const NAME_BYTES = 48;
const LOG_MARK_BYTES = 24;

export function holderFileOf(database: string): string {
  return `${database.replace(/\.duckdb$/, '')}.holder`;
}

/** The holder's name; null where there is none. */
export function holderName(database: string): string | null {
  return lineAt(database, 0, NAME_BYTES);
}

/** Writes only the name: an earlier holder may have written the log's mark. */
export function writeHolderName(database: string, name: string): Promise<void> {
  return writeLine(database, name, 0, NAME_BYTES);
}

/** The number of checkpoints that the database had when the log with commits was begun; null: no log is known. */
export function logMark(database: string): string | null {
  return lineAt(database, NAME_BYTES, LOG_MARK_BYTES);
}

export function writeLogMark(database: string, checkpoints: number | null): Promise<void> {
  return writeLine(database, String(checkpoints ?? ''), NAME_BYTES, LOG_MARK_BYTES);
}

export function removeHolderFile(database: string): Promise<void> {
  return rm(holderFileOf(database), { force: true });
}

function lineAt(database: string, at: number, bytes: number): string | null {
  try {
    const text = readFileSync(holderFileOf(database), 'latin1').slice(at, at + bytes);
    return text.trimEnd() || null;
  } catch {
    return null;
  }
}

async function writeLine(database: string, text: string, at: number, bytes: number): Promise<void> {
  const name = holderFileOf(database);
  // In place and line by line: a process that has just lost the database does not overwrite another's name.
  const file = await open(name, existsSync(name) ? 'r+' : 'w', 0o600);
  await file.write(`${text.padEnd(bytes - 1)}\n`, at, 'latin1').finally(() => file.close());
}
