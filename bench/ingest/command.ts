/** Runs `fathom ingest` as users do: as a process, into a new directory. */
import { rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { fathomCommand } from '../command.js';
import { databaseBytes } from '../store.js';
import type { Input } from './inputs.js';

export interface IngestRun {
  /** From the start of the process to its end. */
  wallS: number;
  /** The command's own figure: excludes start and end of the process, and opening and closing the store. */
  ownS: number;
  /** CPU time of all threads, including the start of the process. */
  cpuS: number;
  peakMegabytes: number;
  /** As the command reported them. */
  cells: number;
  inputBytes: number;
  storedBytes: number;
}

interface CommandReport {
  files: { rows: number; cells: number; seconds: number }[];
}

/** @throws Error if the command fails, or has not read what was generated */
export async function runIngest(input: Input): Promise<IngestRun> {
  const directory = path.join(path.dirname(input.file), 'data');
  try {
    const began = performance.now();
    const { report, usage } = await command(input, directory);
    const wallS = (performance.now() - began) / 1000;
    checkReport(input, report);
    const inputBytes = (await stat(input.file)).size;
    const storedBytes = await databaseBytes(directory);
    const [{ seconds: ownS, cells }] = report.files;
    return { wallS, ownS, cells, ...usage, inputBytes, storedBytes };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** @throws Error if the command fails */
export function command(input: Pick<Input, 'dataset' | 'file'>, directory: string) {
  const words = ['ingest', input.dataset, input.file, '--data', directory];
  return fathomCommand<CommandReport>(words);
}

function checkReport(input: Input, { files: [read] }: CommandReport): void {
  const { name, rows, cells } = input;
  if (read.rows === rows && (cells === null || read.cells === cells)) return;
  throw new Error(
    `${name}: ${rows} rows with ${cells} cells were generated, ${read.rows} with ${read.cells} were read`,
  );
}
