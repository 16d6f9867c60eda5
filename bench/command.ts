/** Runs a command of `fathom` as users do, as a process, and measures what it takes. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

interface Usage {
  /** CPU time of all threads, including the start of the process. */
  cpuS: number;
  peakMegabytes: number;
}

const COMMAND = fileURLToPath(new URL('../server/cli/main.js', import.meta.url));
const USAGE_MODULE = new URL('./usage.js', import.meta.url).href;

/** Runs a command with `--json`. @throws Error with what it complains of, if it fails */
export async function fathomCommand<Report>(
  words: readonly string[],
): Promise<{ report: Report; usage: Usage }> {
  const child = spawn(process.execPath, ['--import', USAGE_MODULE, COMMAND, ...words, '--json'], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const [, out, errors, used] = child.stdio as (Readable | null)[];
  const [status, report, complaint, usage] = await Promise.all([
    new Promise<number | null>((resolve, reject) =>
      child.once('exit', resolve).once('error', reject),
    ),
    ...[out, errors, used].map((stream) => text(stream as Readable)),
  ]);
  if (status !== 0) throw new Error(`fathom ${words[0]} ended with ${status}: ${complaint}`);
  return { report: JSON.parse(report) as Report, usage: JSON.parse(usage) as Usage };
}
