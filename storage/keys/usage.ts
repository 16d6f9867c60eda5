/** The table `usage`: calls by key and month, counted in memory and written behind. */
import type { DayUsage, UsageCounter, UsageSource } from '../contract.js';
import type { Database } from '../duckdb/database.js';
import type { SqlValue } from '../duckdb/statements.js';
import { WriteBehind } from '../write-behind.js';
import { UsageDays } from './usage-days.js';

/** Months kept in memory: the clock may be set back by as many without losing counts. */
const KEPT_MONTHS = 4;

class Counter implements UsageCounter {
  /** By other node of the cluster. */
  private readonly others = new Map<string, number>();
  private ofOthers = 0;

  constructor(
    readonly keyId: string,
    readonly month: number,
    /** Calls that this node has counted. */
    public own: number,
    private readonly changed: (counter: Counter) => void,
  ) {}

  get calls(): number {
    return this.own + this.ofOthers;
  }

  add(calls: number): void {
    this.own += calls;
    this.changed(this);
  }

  /** @returns whether this node had counted more than it knows of */
  regain(calls: number): boolean {
    if (calls <= this.own) return false;
    this.add(calls - this.own);
    return true;
  }

  /** What another node has counted, as far as it is known. */
  ofNode(node: string): number {
    return this.others.get(node) ?? 0;
  }

  /** Counts only grow. @returns whether the node has counted more than was known */
  merge(node: string, calls: number): boolean {
    const known = this.ofNode(node);
    if (calls <= known) return false;
    this.others.set(node, calls);
    this.ofOthers += calls - known;
    return true;
  }
}

/** A node's counts of a key: absolute, so that one that is lost is made up for by the next. */
export interface KeyUsage {
  keyId: string;
  month: number;
  calls: number;
  days: DayUsage[];
}

export class UsageBook implements UsageSource {
  /** By month, then key. */
  private readonly months = new Map<number, Map<string, Counter>>();
  private readonly rows: WriteBehind<Counter>;
  readonly days: UsageDays;
  /** Counters that changed since they were last reported; null: this is no node of a cluster. */
  private fresh: Set<Counter> | null = null;

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

  private readonly onCounted = (counter: Counter): void => {
    this.rows.mark(counter);
    this.fresh?.add(counter);
  };

  /**
   * Counts as a node of a cluster: what the store holds as the counts of another node, whose copy it is, becomes
   * that node's. Call before anything is counted.
   */
  async countAs(node: string): Promise<void> {
    const [owner] = await this.database.rows("SELECT value FROM meta WHERE key = 'usage_node'");
    const before = owner?.[0] as string | undefined;
    if (before !== node) {
      await this.database.lonelyTransaction(async (tx) => {
        if (before !== undefined) {
          for (const table of ['usage', 'usage_days']) {
            await tx.run(`INSERT OR IGNORE INTO other_${table} SELECT ?, * FROM ${table}`, [
              before,
            ]);
            await tx.run(`DELETE FROM ${table}`);
          }
          // Its own, as the other node knew them.
          for (const table of ['usage', 'usage_days']) {
            await tx.run(
              `INSERT INTO ${table} SELECT * EXCLUDE (node) FROM other_${table} WHERE node = ?`,
              [node],
            );
            await tx.run(`DELETE FROM other_${table} WHERE node = ?`, [node]);
          }
        }
        await tx.run("DELETE FROM meta WHERE key = 'usage_node'");
        await tx.run("INSERT INTO meta VALUES ('usage_node', ?)", [node]);
      });
      this.months.clear();
      await this.read();
    }
    this.fresh = new Set();
  }

  /** Counts of this node that changed since the last call, or all of a month. */
  async report(month: number | null, sinceDay: number): Promise<KeyUsage[]> {
    const counters =
      month === null
        ? [...(this.fresh ?? [])]
        : [...this.ofMonth(month).values()].filter(({ own }) => own > 0);
    this.fresh?.clear();
    const counts = counters.map(({ keyId, month, own }) => ({ keyId, month, calls: own }));
    return this.withDays(counts, sinceDay, null);
  }

  /** What another node has counted in a month, as far as it is known. */
  known(node: string, month: number): Promise<KeyUsage[]> {
    const counts = Array.from(this.ofMonth(month).values(), (counter) => {
      return { keyId: counter.keyId, month, calls: counter.ofNode(node) };
    });
    const some = counts.filter(({ calls }) => calls > 0);
    return this.withDays(some, month * 100, node);
  }

  /** @param node another one; null: this one */
  private async withDays(
    counts: readonly Omit<KeyUsage, 'days'>[],
    sinceDay: number,
    node: string | null,
  ): Promise<KeyUsage[]> {
    if (counts.length === 0) return [];
    const keyIds = counts.map(({ keyId }) => keyId);
    const days = await this.days.since(keyIds, sinceDay, node);
    return counts.map((count) => ({ ...count, days: days.get(count.keyId) ?? [] }));
  }

  /** Takes back what this node had told the others: it was killed before it had written that. */
  async regain(usage: readonly KeyUsage[]): Promise<void> {
    const lost = usage.filter(({ keyId, month, calls }) =>
      this.counterOf(keyId, month).regain(calls),
    );
    await this.days.merge(null, lost);
  }

  /** Takes over what another node has counted. */
  async merge(node: string, usage: readonly KeyUsage[]): Promise<void> {
    const changed = usage.filter(({ keyId, month, calls }) =>
      this.counterOf(keyId, month).merge(node, calls),
    );
    if (changed.length === 0) return;
    await this.database.runAside(
      `INSERT INTO other_usage VALUES ${changed.map(() => '(?, ?, ?, ?)').join(', ')}
       ON CONFLICT (node, key_id, month) DO UPDATE SET calls = greatest(calls, EXCLUDED.calls)`,
      changed.flatMap(({ keyId, month, calls }): SqlValue[] => [node, keyId, month, calls]),
    );
    await this.days.merge(node, changed);
  }

  /**
   * Loads the counts of the last months. Failed writes go to `onError`, and are tried again until they
   * succeed.
   */
  static async load(database: Database, onError: (error: unknown) => void): Promise<UsageBook> {
    const book = new UsageBook(database, onError);
    await book.read();
    return book;
  }

  private async read(): Promise<void> {
    const rows = await this.database.rows(
      `WITH counts AS (SELECT '' AS node, * FROM usage UNION ALL SELECT * FROM other_usage)
       SELECT node, key_id, month, calls FROM counts
       WHERE month IN (SELECT DISTINCT month FROM counts ORDER BY month DESC LIMIT ${KEPT_MONTHS})`,
    );
    for (const [node, keyId, month, calls] of rows as [string, string, number, number][]) {
      const counter = this.counterOf(keyId, month);
      if (node === '') counter.own = calls;
      else counter.merge(node, calls);
    }
  }

  counter(keyId: string, month: number): UsageCounter {
    return this.counterOf(keyId, month);
  }

  private counterOf(keyId: string, month: number): Counter {
    const counters = this.ofMonth(month);
    let counter = counters.get(keyId);
    if (counter === undefined) {
      counter = new Counter(keyId, month, 0, this.onCounted);
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
    const values = counters.flatMap(({ keyId, month, own }): SqlValue[] => [keyId, month, own]);
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
