/** What a data directory holds, told without opening it. */
import { mkdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { InputError } from './errors.js';

/** The database's name within a data directory. */
export const DATABASE_FILE = 'fathom.duckdb';

/** Whether the directory holds a store. */
export async function holdsStore(directory: string): Promise<boolean> {
  return stat(path.join(directory, DATABASE_FILE)).then(
    (found) => found.isFile(),
    () => false,
  );
}

/**
 * Makes a directory and those above it. mkdir's own `recursive` tries for ever where the system lets nobody
 * make one, as in /proc.
 * @throws InputError there
 */
export async function makeDirectory(directory: string): Promise<void> {
  if (await madeDirectory(directory)) return;
  const parent = path.dirname(directory);
  if (parent !== directory) await makeDirectory(parent);
  if (!(await madeDirectory(directory))) {
    throw new InputError(`${directory}: no directory can be made there`);
  }
}

/** False if the one above it is missing. */
async function madeDirectory(directory: string): Promise<boolean> {
  try {
    await mkdir(directory, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return false;
    if (code !== 'EEXIST') throw error;
  }
  return true;
}
