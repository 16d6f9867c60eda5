/** Output of commands: results on stdout; messages, progress and failures on stderr. */
import { DamageError } from '../../compute/damage.js';
import {
  FaultyFileError,
  InputError,
  StoreBusyError,
  StoreChangedError,
  StoreUnavailableError,
  UsageError,
} from '../../storage/errors.js';

/** A value as JSON. What it quotes cannot command the terminal: JSON.stringify escapes only some control characters. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\u009f]/g,
    (control) => `\\u00${control.charCodeAt(0).toString(16)}`,
  );
}

/** One JSON document on stdout (`--json`). */
export function printJson(value: unknown): void {
  printLine(jsonText(value));
}

export function printLine(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Rows on stdout whose columns, except the last, are as wide as their widest text. */
export function printTable(rows: readonly (readonly string[])[]): void {
  for (const line of tableLines(rows)) printLine(line);
}

/** The lines of printTable(). */
export function tableLines(rows: readonly (readonly string[])[]): string[] {
  const columns = rows[0]?.length ?? 0;
  const widths = Array.from({ length: columns - 1 }, (_, i) =>
    Math.max(...rows.map((row) => row[i].length)),
  );
  return rows.map((row) => row.map((text, i) => text.padEnd(widths[i] ?? 0)).join('  '));
}

/** A message on stderr. What it quotes cannot command the terminal: of control characters, only line ends are kept. */
export function printNote(text: string): void {
  process.stderr.write(`${text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]+/g, ' ')}\n`);
}

/**
 * Lets a command finish its work even if its output cannot be written because the reader has gone or the disk is full.
 * Losing the result is a failure, unless its reader has gone.
 * @param lostStatus of the process whose result is lost
 */
export function tolerateOutputErrors(lostStatus: number): void {
  process.stderr.on('error', () => undefined);
  process.stdout.once('error', ({ code }: NodeJS.ErrnoException) => {
    process.stdout.on('error', () => undefined);
    if (code === 'EPIPE') return;
    printNote(
      `fathom: the result could not be written to stdout: ${code}; the work itself is done`,
    );
    process.exitCode ||= lostStatus;
  });
}

/** Reports an uncaught failure with its stack, because it is a bug. */
export let reportCrash = (error: unknown): void => {
  printNote(failureText(error));
  if (error instanceof Error && error.stack !== undefined) printNote(error.stack);
};

/** Sends reports of crashes to the server's log. */
export function reportCrashesWith(report: (error: unknown) => void): void {
  reportCrash = report;
}

/** How long a reader has for the rest of stderr once the command is done. */
const STDERR_READER_MS = 2000;

/** Ends a process that only waits for a reader of stderr. */
export function endWithoutReader(): void {
  setInterval(() => {
    if (process.stdout.writableLength === 0) process.exit();
  }, STDERR_READER_MS).unref();
}

/** A count with thousands separators. */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** A count of things: `1 page`, `2,000 pages`. */
export function counted(value: number, unit: string): string {
  return `${count(value)} ${unit}${value === 1 ? '' : 's'}`;
}

const KIB = 2 ** 10;
const MIB = 2 ** 20;

/** A number of bytes for people: `12.5 MiB`, or `3.1 KiB` and `512 bytes` of less than one. */
export function sizeText(bytes: number): string {
  if (bytes < KIB) return counted(bytes, 'byte');
  // What would be shown as 1,024 KiB is 1 MiB.
  const [unit, name] = bytes < MIB - KIB / 20 ? [KIB, 'KiB'] : [MIB, 'MiB'];
  const shown = (bytes / unit).toLocaleString('en-US', { maximumFractionDigits: 1 });
  return `${shown} ${name}`;
}

/** Progress is shown only after this time. */
const PATIENCE_MS = 2000;
const REDRAW_MS = 200;

/** A line of progress, redrawn in place; silent unless stderr is a terminal. */
export class ProgressLine {
  private readonly startedMs = performance.now();
  private drawnMs = -Infinity;
  private drawn = false;

  /** Shows the text if enough time has passed. */
  show(text: string): void {
    const now = performance.now();
    if (!process.stderr.isTTY || now - this.startedMs < PATIENCE_MS) return;
    if (now - this.drawnMs < REDRAW_MS) return;
    this.drawnMs = now;
    this.drawn = true;
    process.stderr.write(`\r\u001b[K${text}`);
  }

  /** Shows a bar; `share` is the finished share of the work, 0 to 1. */
  bar(share: number, text: string): void {
    const width = 30;
    const full = Math.round(Math.min(1, Math.max(0, share)) * width);
    this.show(`[${'#'.repeat(full)}${' '.repeat(width - full)}] ${text}`);
  }

  end(): void {
    if (this.drawn) process.stderr.write('\r\u001b[K');
    this.drawn = false;
  }
}

/** A command failed after some of its work was committed. */
export class PartlyDone extends Error {
  /** @param document the committed work, as in the command's JSON document */
  constructor(
    override readonly cause: unknown,
    readonly document: Readonly<Record<string, unknown>>,
  ) {
    super('the command failed after some of its work');
  }
}

/** The message of a failure: one line, or several for a file's faults; no stack. */
export function failureText(error: unknown): string {
  if (isExpected(error)) return error.message;
  if (!(error instanceof Error)) return 'fathom: failed';
  if (process.env.FATHOM_DEBUG === '1') return error.stack ?? error.message;
  return `fathom: ${unexpectedText(error)}`;
}

export function failureDocument(error: unknown): Record<string, unknown> {
  if (error instanceof PartlyDone) return { ...error.document, ...failureDocument(error.cause) };
  const faults = error instanceof InputError ? { faults: error.faults } : {};
  if (!(error instanceof FaultyFileError)) return { error: failureText(error), ...faults };
  const { found, stopped } = error.faultCount;
  return { error: failureText(error), ...faults, fault_count: found, reading_stopped: stopped };
}

/** Errors whose message says all that is to know. */
const EXPECTED = [
  UsageError,
  InputError,
  DamageError,
  StoreBusyError,
  StoreChangedError,
  StoreUnavailableError,
];

function isExpected(error: unknown): error is Error {
  return EXPECTED.some((kind) => error instanceof kind);
}

function unexpectedText(error: Error): string {
  const { code, path } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'ENOSPC':
      return 'the disk is full';
    case 'EACCES':
    case 'EPERM':
      return `no permission: ${path ?? error.message}`;
    case 'EROFS':
      return `the file system is read-only: ${path ?? error.message}`;
    default:
      return error.message.split('\n')[0];
  }
}
