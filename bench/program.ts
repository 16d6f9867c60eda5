/** What the benchmarks' programs share: how they end, and where their results are written. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { BenchFailure, BenchUsageError, messageOf } from './errors.js';
import type { MachineFacts } from './machine.js';

const FAILED = 1;
const WRONG_USAGE = 2;
const HELP = ['--help', '-h'];

/**
 * Runs a program's main and sets the exit status: the returned one, 1 if it fails, 2 with the usage if its flags are wrong.
 * `--help` prints only the usage.
 */
export async function runProgram(
  name: string,
  usage: string,
  main: (words: readonly string[]) => Promise<number | void>,
): Promise<void> {
  const words = process.argv.slice(2);
  if (words.some((word) => HELP.includes(word))) {
    process.stdout.write(`${usage}\n`);
    return;
  }
  try {
    process.exitCode = (await main(words)) ?? 0;
  } catch (error) {
    const isUsage = error instanceof BenchUsageError;
    const isPlain = isUsage || error instanceof BenchFailure;
    const text = error instanceof Error ? (isPlain ? error.message : error.stack) : String(error);
    process.stderr.write(`${name}: ${text}\n${isUsage ? `${usage}\n` : ''}`);
    process.exitCode = isUsage ? WRONG_USAGE : FAILED;
  }
}

/** Reports progress on stderr; stdout is only for results. */
export function reportProgress(text: string): void {
  process.stderr.write(`${text}...\n`);
}

/**
 * Writes results as one JSON document, and creates the folder.
 * @throws BenchFailure if they cannot be written
 */
export async function writeResults(file: string, document: object): Promise<void> {
  try {
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, `${JSON.stringify(document, null, 2)}\n`);
  } catch (error) {
    throw new BenchFailure(`the results cannot be written to ${file}: ${messageOf(error)}`);
  }
}

/** The line above a table: on what it was measured. */
export function headingOf({ node, cores, cpuModel, loadAverage }: MachineFacts): string {
  return `Node ${node}, ${cores} cores, ${cpuModel}, load ${loadAverage} before`;
}

/** The note below the table of a smoke run. */
export const SMOKE_NOTE = 'Smoke run: too few operations to be a measurement.';
