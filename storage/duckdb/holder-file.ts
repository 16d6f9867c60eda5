/**
 * The file beside a database that states which process holds it, and whether its log has commits: if a killed process
 * left that mark, the next one knows that a blank or missing log has lost commits. A clean stop blanks both.
 */
import { existsSync, readFileSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { absent } from '../errors.js';

/**
 * The name and the mark have a padded line each. Once the file has a line, writing either needs no new space. A
 * clean stop keeps the file: creating it again would fail on a full disk.
 */
const NAME_BYTES = 48;
const LOG_MARK_BYTES = 24;

export function holderFileOf(database: string): string {
  return `${database.replace(/\.duckdb$/, '')}.holder`;
}

/** The holder's name; null if there is none. @throws the system's error if the file cannot be read, such as without descriptors */
export function holderName(database: string): string | null {
  return lineAt(database, 0, NAME_BYTES);
}

/** Writes only the name, empty if nobody holds the database: an earlier holder may have written the log's mark. */
export function writeHolderName(database: string, name: string): Promise<void> {
  return writeLine(database, name, 0, NAME_BYTES);
}

/** How many checkpoints the database had when its log with commits was begun; null if no log is known. @throws like holderName() */
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
  } catch (error) {
    return absent(error);
  }
}

async function writeLine(database: string, text: string, at: number, bytes: number): Promise<void> {
  const name = holderFileOf(database);
  // In place and line by line: a process that has just lost the database must not overwrite the new holder's name.
  const file = await open(name, existsSync(name) ? 'r+' : 'w', 0o600);
  await file.write(`${text.padEnd(bytes - 1)}\n`, at, 'latin1').finally(() => file.close());
}
