/** What the benchmarks' programs share: how they end, and where their results go. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { BenchUsageError } from './flags.js';
import type { MachineFacts } from './machine.js';

const FAILED = 1;
const WRONG_USAGE = 2;
const BROKEN_OFF = 130;

/**
 * Runs a program's main and sets the exit status: what it returns, 1 where it fails, 2 with the
 * usage where its flags are wrong.
 */
export async function runProgram(
  name: string,
  usage: string,
  main: (words: readonly string[]) => Promise<number | void>,
): Promise<void> {
  // Exits rather than dies, so that servers and folders do not stay behind.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => process.exit(BROKEN_OFF));
  }
  try {
    process.exitCode = (await main(process.argv.slice(2))) ?? 0;
  } catch (error) {
    const isUsage = error instanceof BenchUsageError;
    const text = error instanceof Error ? (isUsage ? error.message : error.stack) : String(error);
    process.stderr.write(`${name}: ${text}\n${isUsage ? `${usage}\n` : ''}`);
    process.exitCode = isUsage ? WRONG_USAGE : FAILED;
  }
}

/** Tells how far a program is; its results alone go to stdout. */
export function tell(text: string): void {
  process.stderr.write(`${text}...\n`);
}

/** Writes results as one JSON document, its folder made where there is none. */
export async function writeResults(file: string, document: object): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(document, null, 2)}\n`);
}

/** The line above a table: what it was measured on. */
export function headingOf({ node, cores, cpuModel, loadAverage }: MachineFacts): string {
  return `Node ${node}, ${cores} cores, ${cpuModel}, load ${loadAverage} before`;
}

/** Stands below the table of a run that is no measurement. */
export const SMOKE_NOTE = 'Smoke run: too few operations to be a measurement.';
