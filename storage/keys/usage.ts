/**
 * Calls per key and month. Counted in memory, exactly; written behind, at most half a second later,
 * so that a killed process loses no more than its last moment.
 */
import type { Database, SqlValue } from '../duckdb/database.js';
import type { UsageCounter, UsageSource } from '../contract.js';

/** From a count to the start of its writing. */
export const WRITE_DELAY_MS = 250;
/** Rows of one statement. */
const MAX_STATEMENT_ROWS = 500;
/** Months kept in memory: the clock may be set back by as many without a count being missed. */
const KEPT_MONTHS = 4;

class Counter implements UsageCounter {
  calls: number;
  dirty = false;

  constructor(
    readonly keyId: string,
    readonly month: number,
    calls: number,
    private readonly onDirty: (counter: Counter) => void,
  ) {
    this.calls = calls;
  }

  add(calls: number): void {
    this.calls += calls;
    if (this.dirty) return;
    this.dirty = true;
    this.onDirty(this);
  }
}

export class UsageBook implements UsageSource {
  /** By month, then key: at most one counter a key in each month that the process has seen. */
  private readonly months = new Map<number, Map<string, Counter>>();
  private dirty: Counter[] = [];
  private timer: NodeJS.Timeout | null = null;
  private writing: Promise<void> = Promise.resolve();
  private closed = false;
  private readonly markDirty = (counter: Counter): void => {
    this.dirty.push(counter);
    this.schedule();
  };

  private constructor(
    private readonly database: Database,
    private readonly onError: (error: unknown) => void,
  ) {}

  /**
   * Loads the counts of the last months. `onError` is told of a write that failed; it is tried again
   * until it succeeds.
   */
  static async load(database: Database, onError: (error: unknown) => void): Promise<UsageBook> {
    const book = new UsageBook(database, onError);
    const rows = await database.rows(
      `SELECT key_id, month, calls FROM usage
       WHERE month IN (SELECT DISTINCT month FROM usage ORDER BY month DESC LIMIT ${KEPT_MONTHS})`,
    );
    for (const [keyId, month, calls] of rows as [string, number, number][]) {
      book.ofMonth(month).set(keyId, new Counter(keyId, month, calls, book.markDirty));
    }
    return book;
  }

  counter(keyId: string, month: number): UsageCounter {
    const counters = this.ofMonth(month);
    let counter = counters.get(keyId);
    if (counter === undefined) {
      counter = new Counter(keyId, month, 0, this.markDirty);
      counters.set(keyId, counter);
    }
    return counter;
  }

  /** Resolves when all that is counted so far is written. @throws where that failed */
  async flush(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const before = this.writing;
    const writing = before.then(() => this.write());
    // One write at a time, whether the one before failed or not.
    this.writing = writing.catch(() => undefined);
    await writing;
  }

  /** Writes what is left; a failure is told to `onError`, and there is no other try. */
  async close(): Promise<void> {
    this.closed = true;
    await this.flush().catch(this.onError);
  }

  private ofMonth(month: number): Map<string, Counter> {
    let counters = this.months.get(month);
    if (counters === undefined) this.months.set(month, (counters = new Map<string, Counter>()));
    return counters;
  }

  private schedule(): void {
    if (this.timer !== null || this.closed) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      this.flush().catch(this.onError);
    }, WRITE_DELAY_MS);
  }

  private async write(): Promise<void> {
    const counters = this.dirty;
    this.dirty = [];
    for (const counter of counters) counter.dirty = false;
    for (let first = 0; first < counters.length; first += MAX_STATEMENT_ROWS) {
      const part = counters.slice(first, first + MAX_STATEMENT_ROWS);
      try {
        await this.writeRows(part);
      } catch (error) {
        this.takeBack(counters.slice(first));
        throw error;
      }
    }
    this.forgetOldMonths();
  }

  private writeRows(counters: readonly Counter[]): Promise<void> {
    const values = counters.flatMap(({ keyId, month, calls }): SqlValue[] => [keyId, month, calls]);
    // Counts only grow: whatever was written before, the greater one is the newer.
    return this.database.runAside(
      `INSERT INTO usage VALUES ${counters.map(() => '(?, ?, ?)').join(', ')}
       ON CONFLICT (key_id, month) DO UPDATE SET calls = greatest(calls, EXCLUDED.calls)`,
      values,
    );
  }

  /** What could not be written waits for the next time. */
  private takeBack(counters: readonly Counter[]): void {
    for (const counter of counters) {
      if (counter.dirty) continue;
      counter.dirty = true;
      this.dirty.push(counter);
    }
    this.schedule();
  }

  /** The oldest of too many months: written, and asked for no more. */
  private forgetOldMonths(): void {
    const newestFirst = [...this.months.keys()].sort((a, b) => b - a);
    for (const month of newestFirst.slice(KEPT_MONTHS)) this.months.delete(month);
  }
}
