/** Programs that are not part of Node: tests that need a missing one are skipped, with a message. */
import { spawnSync } from 'node:child_process';

const found = new Map<string, boolean>();

/** Whether this machine has a program that runs; if not, says so once. */
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

/** Those programs here that unpack gzip from standard input and share no code with Node. */
export const gzipReaders = (
  [
    ['gzip', ['-dc']],
    ['python3', ['-c', PYTHON_GUNZIP]],
  ] as [string, string[]][]
).filter(([program]) => hasProgram(program));
