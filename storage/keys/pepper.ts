/** The secret that keys' digests are made with: a file beside the database, mode 0600. */
import { randomBytes } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import path from 'node:path';
import { InputError } from '../errors.js';

const PEPPER_FILE = 'pepper';
const PEPPER_BYTES = 32;

/**
 * Reads a directory's pepper. Where no key depends on it yet (`required` is false), one that is
 * missing or damaged is made anew.
 * @throws InputError where it is required and cannot be had
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

/** Puts a file in its place when it is whole and on the disk: keys made with it outlive a crash. */
async function writeWhole(file: string, content: Buffer): Promise<void> {
  const made = await open(`${file}.new`, 'w', 0o600);
  try {
    await made.writeFile(content);
    await made.sync();
  } finally {
    await made.close();
  }
  await rename(`${file}.new`, file);
  const directory = await open(path.dirname(file), 'r');
  await directory.sync().finally(() => directory.close());
}
