/** The pepper: the secret with which a store makes the digests of its keys. */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { PEPPER_FILE } from '../data-directory.js';
import { writeWhole } from '../disk.js';
import { InputError } from '../errors.js';

export const PEPPER_BYTES = 32;

/**
 * Reads a directory's pepper. Creates it if it is missing or damaged and no key depends on it yet (`required` is
 * false).
 * @throws InputError if it is required and cannot be read
 */
export async function loadPepper(directory: string, required: boolean): Promise<Buffer> {
  const file = path.join(directory, PEPPER_FILE);
  const found = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new InputError(`${file} cannot be read (${error.code ?? 'unknown'})`);
  });
  if (found?.length === PEPPER_BYTES) return found;
  if (required) {
    throw new InputError(
      `${file} is ${found === null ? 'missing' : 'damaged'}: without it no key of this store can be checked; restore it from a backup`,
    );
  }
  const pepper = randomBytes(PEPPER_BYTES);
  await writeWhole(file, pepper);
  return pepper;
}
