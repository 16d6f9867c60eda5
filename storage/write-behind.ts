/**
 * Rows that count in memory at once and are written behind, so that a killed process loses no more
 * than its last half second.
 */

/** From a change to the start of its writing. */
const WRITE_DELAY_MS = 250;
/** Rows of one statement. */
const MAX_STATEMENT_ROWS = 500;

interface WriteBehindOptions<R> {
  /** Writes rows as they are now, at most MAX_STATEMENT_ROWS. */
  write: (rows: readonly R[]) => Promise<void>;
  /** Called when all rows that were marked have been written. */
  onWritten?: () => void;
  /** Told of a write that failed; it is tried again, except by close(). */
  onError: (error: unknown) => void;
}

export class WriteBehind<R> {
  private marked = new Set<R>();
  private timer: NodeJS.Timeout | null = null;
  private writing: Promise<void> = Promise.resolve();
  private closed = false;

  constructor(private readonly options: WriteBehindOptions<R>) {}

  /** Has a row written that is not stored as it is. */
  mark(row: R): void {
    this.marked.add(row);
    if (this.timer !== null || this.closed) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      this.flush().catch(this.options.onError);
    }, WRITE_DELAY_MS);
  }

  /** Resolves when all rows marked so far are written. @throws where that failed */
  async flush(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const writing = this.writing.then(() => this.write());
    // One write at a time, whether the one before failed or not.
    this.writing = writing.catch(() => undefined);
    await writing;
  }

  /** Writes what is left; a failure is told to `onError`. */
  async close(): Promise<void> {
    this.closed = true;
    await this.flush().catch(this.options.onError);
  }

  private async write(): Promise<void> {
    const rows = [...this.marked];
    this.marked = new Set();
    for (let first = 0; first < rows.length; first += MAX_STATEMENT_ROWS) {
      try {
        await this.options.write(rows.slice(first, first + MAX_STATEMENT_ROWS));
      } catch (error) {
        for (const row of rows.slice(first)) this.mark(row);
        throw error;
      }
    }
    this.options.onWritten?.();
  }
}
