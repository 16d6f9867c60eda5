/** Programs that are no part of Node: what needs one that is missing is skipped, and says so. */
import { spawnSync } from 'node:child_process';

const found = new Map<string, boolean>();

/** Whether this machine has a program that runs; where not, that is said once. */
export function hasProgram(name: string): boolean {
  const known = found.get(name);
  if (known !== undefined) return known;
  const isThere = spawnSync(name, ['--version']).status === 0;
  if (!isThere) console.warn(`Tests with ${name} are skipped: it is not installed`);
  found.set(name, isThere);
  return isThere;
}

const PYTHON_GUNZIP =
  'import sys,gzip; sys.stdout.buffer.write(gzip.decompress(sys.stdin.buffer.read()))';

/** Programs that unpack gzip from standard input and share nothing with Node, as far as they are here. */
export const gzipReaders = (
  [
    ['gzip', ['-dc']],
    ['python3', ['-c', PYTHON_GUNZIP]],
  ] as [string, string[]][]
).filter(([program]) => hasProgram(program));
