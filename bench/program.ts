/** What the benchmarks' programs share: how they end, and where their results go. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { BenchFailure, BenchUsageError, messageOf } from './errors.js';
import type { MachineFacts } from './machine.js';

const FAILED = 1;
const WRONG_USAGE = 2;
const HELP = ['--help', '-h'];

/**
 * Runs a program's main and sets the exit status: what it returns, 1 where it fails, 2 with the
 * usage where its flags are wrong. `--help` prints the usage and nothing else.
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

/** Reports progress on stderr; stdout gets only the results. */
export function reportProgress(text: string): void {
  process.stderr.write(`${text}...\n`);
}

/**
 * Writes results as one JSON document, and creates its folder.
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

/** The line above a table: what it was measured on. */
export function headingOf({ node, cores, cpuModel, loadAverage }: MachineFacts): string {
  return `Node ${node}, ${cores} cores, ${cpuModel}, load ${loadAverage} before`;
}

/** The note below the table of a smoke run. */
export const SMOKE_NOTE = 'Smoke run: too few operations to be a measurement.';
