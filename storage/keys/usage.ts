/** The table `usage`: calls by key and month, counted in memory and written behind. */
import type { UsageCounter, UsageSource } from '../contract.js';
import type { Database } from '../duckdb/database.js';
import type { SqlValue } from '../duckdb/statements.js';
import { WriteBehind } from '../write-behind.js';
import { UsageDays } from './usage-days.js';

/** Months kept in memory: the clock may be set back by as many without losing counts. */
const KEPT_MONTHS = 4;

class Counter implements UsageCounter {
  constructor(
    readonly keyId: string,
    readonly month: number,
    public calls: number,
    private readonly rows: WriteBehind<Counter>,
  ) {}

  add(calls: number): void {
    this.calls += calls;
    this.rows.mark(this);
  }
}

export class UsageBook implements UsageSource {
  /** By month, then key. */
  private readonly months = new Map<number, Map<string, Counter>>();
  private readonly rows: WriteBehind<Counter>;
  readonly days: UsageDays;

  private constructor(
    private readonly database: Database,
    onError: (error: unknown) => void,
  ) {
    this.rows = new WriteBehind({
      write: (counters) => this.write(counters),
      onWritten: () => this.forgetOldMonths(),
      onError,
    });
    this.days = new UsageDays(database, onError);
  }

  /**
   * Loads the counts of the last months. Failed writes go to `onError`, and are tried again until they
   * succeed.
   */
  static async load(database: Database, onError: (error: unknown) => void): Promise<UsageBook> {
    const book = new UsageBook(database, onError);
    const rows = await database.rows(
      `SELECT key_id, month, calls FROM usage
       WHERE month IN (SELECT DISTINCT month FROM usage ORDER BY month DESC LIMIT ${KEPT_MONTHS})`,
    );
    for (const [keyId, month, calls] of rows as [string, number, number][]) {
      book.ofMonth(month).set(keyId, new Counter(keyId, month, calls, book.rows));
    }
    return book;
  }

  counter(keyId: string, month: number): UsageCounter {
    const counters = this.ofMonth(month);
    let counter = counters.get(keyId);
    if (counter === undefined) {
      counter = new Counter(keyId, month, 0, this.rows);
      counters.set(keyId, counter);
    }
    return counter;
  }

  /** Resolves when all counts so far are written. @throws if that fails */
  flush(): Promise<void> {
    return this.rows.flush();
  }

  /** Writes what is left; a failure goes to `onError` and is not tried again. */
  async close(): Promise<void> {
    await this.rows.close();
    await this.days.close();
  }

  private ofMonth(month: number): Map<string, Counter> {
    let counters = this.months.get(month);
    if (counters === undefined) this.months.set(month, (counters = new Map<string, Counter>()));
    return counters;
  }

  private write(counters: readonly Counter[]): Promise<void> {
    const values = counters.flatMap(({ keyId, month, calls }): SqlValue[] => [keyId, month, calls]);
    // Counts only grow: the greater one is the newer.
    return this.database.runAside(
      `INSERT INTO usage VALUES ${counters.map(() => '(?, ?, ?)').join(', ')}
       ON CONFLICT (key_id, month) DO UPDATE SET calls = greatest(calls, EXCLUDED.calls)`,
      values,
    );
  }

  private forgetOldMonths(): void {
    const newestFirst = [...this.months.keys()].sort((a, b) => b - a);
    for (const month of newestFirst.slice(KEPT_MONTHS)) this.months.delete(month);
  }
}
