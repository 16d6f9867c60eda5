import { open } from 'node:fs/promises';
import { InputError } from '../errors.js';

/**
 * Looks at a file before it is read.
 * @throws InputError where it cannot be opened, is a directory, or a gzip file without a byte
 */
export async function checkInputFile(file: string): Promise<void> {
  const handle = await open(file, 'r').catch((error: NodeJS.ErrnoException) => {
    throw new InputError(`${file}: ${reasonOf(error.code)}`);
  });
  try {
    const stat = await handle.stat();
    if (stat.isDirectory()) throw new InputError(`${file}: expected a file, found a directory`);
    if (stat.isFile() && stat.size === 0 && file.toLowerCase().endsWith('.gz')) {
      throw new InputError(`${file}: gzip: the file is cut short`);
    }
  } finally {
    await handle.close();
  }
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
