/** What commands print: results on stdout, people's text and progress on stderr. */

/** One JSON document on stdout (`--json`). */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** A line of a command's result on stdout. */
export function printLine(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** A line for people on stderr. */
export function tell(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Goes on with the work where whoever read the output has gone away. */
export function tolerateClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
}

/** A count with thousands separated, as people read it. */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** Progress shows up only on what takes longer than this. */
const PATIENCE_MS = 2000;
const REDRAW_MS = 200;

/** One line of progress on a terminal, redrawn in place; silent everywhere else. */
export class Progress {
  private readonly startedMs = Date.now();
  private drawnMs = 0;
  private drawn = false;

  /** Shows the text, if enough time has passed. */
  show(text: string): void {
    const now = Date.now();
    if (!process.stderr.isTTY || now - this.startedMs < PATIENCE_MS) return;
    if (now - this.drawnMs < REDRAW_MS) return;
    this.drawnMs = now;
    this.drawn = true;
    process.stderr.write(`\r\u001b[K${text}`);
  }

  /** A bar for a known share of the work, 0 to 1. */
  bar(share: number, text: string): void {
    const width = 30;
    const full = Math.round(Math.min(1, Math.max(0, share)) * width);
    this.show(`[${'#'.repeat(full)}${' '.repeat(width - full)}] ${text}`);
  }

  /** Takes the line away. */
  end(): void {
    if (this.drawn) process.stderr.write('\r\u001b[K');
    this.drawn = false;
  }
}
