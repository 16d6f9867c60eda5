import { access, constants, stat } from 'node:fs/promises';
import { InputError } from '../errors.js';

/**
 * Looks at a file before it is read, without opening it: a pipe can be opened but once.
 * @param twice whether it has to be read twice
 * @throws InputError where it cannot be read, is a directory, a gzip file without a byte, or a pipe
 * that would have to be read twice
 */
export async function checkInputFile(file: string, twice: boolean): Promise<void> {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new InputError(`${file}: ${reasonOf(error.code)}`);
  });
  if (found.isDirectory()) throw new InputError(`${file}: expected a file, found a directory`);
  if (found.isFile() && found.size === 0 && file.toLowerCase().endsWith('.gz')) {
    throw new InputError(`${file}: gzip: the file is cut short`);
  }
  if (twice && !found.isFile()) {
    throw new InputError(`${file}: --merge reads a file twice, and this is none that can be`);
  }
  await access(file, constants.R_OK).catch((error: NodeJS.ErrnoException) => {
    throw new InputError(`${file}: ${reasonOf(error.code)}`);
  });
}

function reasonOf(code = 'unknown'): string {
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'no such file';
    case 'EACCES':
    case 'EPERM':
      return 'no permission to read it';
    default:
      return `cannot be read (${code})`;
  }
}
