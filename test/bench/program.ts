/** The bench's programs, run as users run them. */
import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';

/** The compiled program of a folder of bench/. */
export const programOf = (folder: string): string =>
  path.resolve(import.meta.dirname, '../../dist/bench', folder, 'main.js');

/** Runs a program to its end. */
export const runProgram = (
  folder: string,
  words: readonly string[],
  more: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): SpawnSyncReturns<string> =>
  spawnSync(process.execPath, [programOf(folder), ...words], { encoding: 'utf8', ...more });

/** Runs a program that must succeed; `results` is what it wrote to a file. */
export function resultsOf<Results>(
  folder: string,
  words: readonly string[],
  file: string,
  env = process.env,
): { stdout: string; results: Results } {
  const { status, stdout, stderr } = runProgram(folder, [...words, '--json', file], {
    cwd: path.dirname(file),
    env,
  });
  expect([status, stderr]).toEqual([0, expect.not.stringContaining('Error')]);
  return { stdout, results: JSON.parse(readFileSync(file, 'utf8')) as Results };
}
