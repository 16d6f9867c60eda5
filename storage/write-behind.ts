/**
 * Rows that change in memory at once and are written soon afterwards: a killed process loses at most the last half second.
 */
const WRITE_DELAY_MS = 250;
const MAX_STATEMENT_ROWS = 500;

interface WriteBehindOptions<R> {
  /** Writes the current state of at most MAX_STATEMENT_ROWS rows. */
  write: (rows: readonly R[]) => Promise<void>;
  /** Called when all marked rows have been written. */
  onWritten?: () => void;
  /** Called when a write fails; it is retried, except by close(). */
  onError: (error: unknown) => void;
}

export class WriteBehind<R> {
  private marked = new Set<R>();
  private timer: NodeJS.Timeout | null = null;
  private writing: Promise<void> = Promise.resolve();
  private closed = false;

  constructor(private readonly options: WriteBehindOptions<R>) {}

  /** Marks a row as changed, to be written. */
  mark(row: R): void {
    this.marked.add(row);
    if (this.timer !== null || this.closed) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      this.flush().catch(this.options.onError);
    }, WRITE_DELAY_MS);
  }

  /** Resolves when all rows marked so far are written. @throws if that fails */
  async flush(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    await this.between(() => this.write());
  }

  /** Runs `work` between two writes, even if the last one failed. */
  between<T>(work: () => Promise<T>): Promise<T> {
    const done = this.writing.then(work);
    this.writing = done.then(
      () => undefined,
      () => undefined,
    );
    return done;
  }

  /** Writes the remaining rows; a failure is reported to `onError`. */
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
