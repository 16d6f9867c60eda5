/** Which database files this process has open. */
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { DatabaseLockedError } from './errors.js';

/**
 * The system's locks keep other processes out, not this one, and two instances over one file lose
 * rows.
 */
const openFiles = new Set<string>();

/**
 * Takes a file for one instance.
 * @returns the name to give it back by
 * @throws DatabaseLockedError while this process has it open
 */
export async function claimFile(file: string): Promise<string> {
  const real = path.join(await realpath(path.dirname(file)), path.basename(file));
  if (openFiles.has(real)) throw new DatabaseLockedError(`${file} is in use by this process`);
  openFiles.add(real);
  return real;
}

/** Gives back what claimFile returned. */
export function releaseFile(real: string): void {
  openFiles.delete(real);
}
