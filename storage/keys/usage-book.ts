/**
 * The tables `usage`, `other_usage` and `other_usage_days`: calls by key and month, counted in memory and written behind, and
 * the calls that other nodes of a cluster counted. A key's calls by month and by day are
 * written in one transaction, so both tables always show the same moment.
 */
import type { DayUsage, UsageCounter, UsageSource } from '../contract.js';
import type { Database } from '../duckdb/database.js';
import type { SqlValue, Statements } from '../duckdb/statements.js';
import { readMeta, writeMeta } from '../meta.js';
import { WriteBehind } from '../write-behind.js';
import { type KeyUse, KeyUses } from './key-uses.js';
import { UsageDays } from './usage-days.js';

/** Months kept in memory: the clock may be set back by this many without losing counts. */
const KEPT_MONTHS = 4;
/** The key of `meta` for the node whose counts the store has as its own. */
const OWNER_KEY = 'usage_node';

class Counter implements UsageCounter {
  /** Calls that other nodes of the cluster counted, by node. */
  private readonly others = new Map<string, number>();
  private ofOthers = 0;
  /** Calls that the table has. */
  written: number;
  /** This node's calls before this process started, as far as the table or other nodes know them. */
  before: number;

  constructor(
    readonly keyId: string,
    readonly month: number,
    /** Calls that this node has counted. */
    public own: number,
    private readonly onCounted: (keyId: string) => void,
  ) {
    this.written = own;
    this.before = own;
  }

  get calls(): number {
    return this.own + this.ofOthers;
  }

  add(calls: number): void {
    this.own += calls;
    this.onCounted(this.keyId);
  }

  /** The calls counted by another node, as far as known. */
  ofNode(node: string): number {
    return this.others.get(node) ?? 0;
  }

  /** Counts only grow. */
  merge(node: string, calls: number): void {
    const known = this.ofNode(node);
    if (calls <= known) return;
    this.others.set(node, calls);
    this.ofOthers += calls - known;
  }
}

/** A node's counts of a key in a month. They are totals, so the next report makes up for a lost one. */
export interface KeyUsage {
  keyId: string;
  month: number;
  calls: number;
  days: DayUsage[];
}

export class UsageBook implements UsageSource {
  /** By month, then key. */
  private readonly months = new Map<number, Map<string, Counter>>();
  /** Ids of keys whose calls must be written. */
  private readonly rows: WriteBehind<string>;
  readonly days: UsageDays;
  private uses = new KeyUses([]);
  /** Ids of keys with calls since the last report; null if this is not a node of a cluster. */
  private fresh: Set<string> | null = null;
  /** Whether other nodes may know the counts of this process. */
  private isReported = false;

  private constructor(
    private readonly database: Database,
    onError: (error: unknown) => void,
  ) {
    this.rows = new WriteBehind({
      write: (keyIds) => this.write(keyIds),
      onWritten: () => this.forgetOldMonths(),
      onError,
    });
    this.days = new UsageDays(database, this.onCounted, (read) => this.rows.between(read));
  }

  private readonly onCounted = (keyId: string): void => {
    this.rows.mark(keyId);
    this.fresh?.add(keyId);
  };

  /**
   * Counts as a node of a cluster. If the store is a copy of another node's, its counts become that node's. Call before
   * anything is counted.
   */
  async countAs(node: string): Promise<void> {
    const before = (await readMeta(this.database)).get(OWNER_KEY);
    if (before !== node) {
      await this.database.exclusiveTransaction(async (tx) => {
        if (before !== undefined) {
          for (const table of ['usage', 'usage_days']) {
            await tx.run(`INSERT OR IGNORE INTO other_${table} SELECT ?, * FROM ${table}`, [
              before,
            ]);
            await tx.run(`DELETE FROM ${table}`);
          }
          // This node's counts, as the other node knew them.
          for (const table of ['usage', 'usage_days']) {
            await tx.run(
              `INSERT INTO ${table} SELECT * EXCLUDE (node) FROM other_${table} WHERE node = ?`,
              [node],
            );
            await tx.run(`DELETE FROM other_${table} WHERE node = ?`, [node]);
          }
        }
        await writeMeta(tx, OWNER_KEY, node);
      });
      this.months.clear();
      await this.read();
    }
    this.fresh = new Set();
  }

  /**
   * Counts of this node from a UTC day on, including all of that month.
   * @param isAll whether to include keys that were not counted since the last call
   */
  async report(sinceDay: number, isAll: boolean): Promise<KeyUsage[]> {
    const fresh = [...(this.fresh ?? [])];
    this.fresh?.clear();
    this.isReported = true;
    try {
      await this.rows.flush();
      return await this.stored(sinceDay, '', [], isAll ? null : fresh);
    } catch (error) {
      for (const keyId of fresh) this.fresh?.add(keyId);
      throw error;
    }
  }

  /** The known counts of another node from a UTC day on, as in report(). */
  known(node: string, sinceDay: number): Promise<KeyUsage[]> {
    return this.stored(sinceDay, 'other_', [node], null);
  }

  /** @param keyIds which keys; null for all */
  private async stored(
    sinceDay: number,
    of: '' | 'other_',
    nodes: readonly string[],
    keyIds: readonly string[] | null,
  ): Promise<KeyUsage[]> {
    if (keyIds?.length === 0) return [];
    const which = [
      ...nodes.map(() => 'node = ?'),
      ...(keyIds === null ? [] : [`key_id IN (${keyIds.map(() => '?').join(', ')})`]),
    ];
    const where = which.map((one) => ` AND ${one}`).join('');
    const values = [...nodes, ...(keyIds ?? [])];
    // One statement, to read months and days of the same moment.
    const rows = await this.database.rows(
      `SELECT key_id, month, calls, NULL, NULL FROM ${of}usage
       WHERE month >= ${Math.floor(sinceDay / 100)}${where}
       UNION ALL
       SELECT key_id, day // 100, calls, day, endpoint FROM ${of}usage_days
       WHERE day >= ${sinceDay}${where}`,
      [...values, ...values],
    );
    return usageOf(rows as StoredUsage[]);
  }

  /**
   * Adds calls that this node once reported to the others and that its store lacks, such as after a restore from a backup.
   * Calls counted before the first report are added to them.
   */
  regain(usage: readonly KeyUsage[]): Promise<void> {
    return this.rows.between(async () => {
      const lost = usage.flatMap((reported) => {
        const counter = this.counterOf(reported.keyId, reported.month);
        const lacking = reported.calls - (this.isReported ? counter.own : counter.before);
        return lacking > 0 ? [{ reported, counter, lacking, calls: counter.own + lacking }] : [];
      });
      if (lost.length === 0) return;
      const counts = lost.map(({ reported, calls }) => ({ ...reported, calls }));
      await this.database.shortTransaction((tx) => mergeUsage(tx, null, counts));
      for (const { reported, counter, lacking, calls } of lost) {
        counter.before = Math.max(counter.before, reported.calls);
        counter.written = Math.max(counter.written, calls);
        counter.add(lacking);
      }
    });
  }

  /** Merges the counts of another node into the counts. */
  async merge(node: string, usage: readonly KeyUsage[]): Promise<void> {
    const changed = usage.filter(
      ({ keyId, month, calls }) => calls > this.counterOf(keyId, month).ofNode(node),
    );
    if (changed.length === 0) return;
    await this.database.shortTransaction((tx) => mergeUsage(tx, node, changed));
    for (const { keyId, month, calls } of changed) this.counterOf(keyId, month).merge(node, calls);
  }

  /**
   * Loads the counts of the last months. Failed writes are reported to `onError` and retried until they succeed.
   */
  static async load(database: Database, onError: (error: unknown) => void): Promise<UsageBook> {
    const book = new UsageBook(database, onError);
    await book.read();
    return book;
  }

  private async read(): Promise<void> {
    const uses = await this.database.rows('SELECT key_id, used_at FROM key_uses');
    this.uses = new KeyUses(uses as KeyUse[]);
    const rows = await this.database.rows(
      `WITH counts AS (SELECT '' AS node, * FROM usage UNION ALL SELECT * FROM other_usage)
       SELECT node, key_id, month, calls FROM counts
       WHERE month IN (SELECT DISTINCT month FROM counts ORDER BY month DESC LIMIT ${KEPT_MONTHS})`,
    );
    for (const [node, keyId, month, calls] of rows as [string, string, number, number][]) {
      const counter = this.counterOf(keyId, month);
      if (node === '') counter.own = counter.written = counter.before = calls;
      else counter.merge(node, calls);
    }
  }

  use(keyId: string, hourS: number): void {
    if (this.uses.take(keyId, hourS)) this.rows.mark(keyId);
  }

  /** Start of the hour in which a key was last used (epoch seconds); null if no use is known. */
  lastUsedS(keyId: string): number | null {
    return this.uses.lastS(keyId);
  }

  /** Last uses to report to other nodes. @param isAll whether to report all again */
  usesToReport(isAll: boolean): KeyUse[] {
    return this.uses.toReport(isAll);
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

  /** Writes the remaining counts; a failure is reported to `onError` and not retried. */
  close(): Promise<void> {
    return this.rows.close();
  }

  private ofMonth(month: number): Map<string, Counter> {
    let counters = this.months.get(month);
    if (counters === undefined) this.months.set(month, (counters = new Map<string, Counter>()));
    return counters;
  }

  private async write(keyIds: readonly string[]): Promise<void> {
    const counters = [...this.months.values()].flatMap((month) =>
      keyIds.flatMap((keyId) => month.get(keyId) ?? []),
    );
    // Taken at one moment, before anything is awaited.
    const months = counters
      .filter(({ own, written }) => own > written)
      .map((counter) => {
        const { keyId, month, own: calls } = counter;
        return { counter, keyId, month, calls, days: [] };
      });
    const days = this.days.take(keyIds);
    const uses = this.uses.unwritten(keyIds);
    if (months.length === 0 && days.length === 0 && uses.length === 0) return;
    await this.database.shortTransaction(async (tx) => {
      await mergeUsage(tx, null, months);
      await this.days.write(tx, days);
      await tx.append(
        'key_uses',
        uses,
        '(key_id) DO UPDATE SET used_at = greatest(used_at, EXCLUDED.used_at)',
      );
    });
    for (const { counter, calls } of months) counter.written = Math.max(counter.written, calls);
    this.days.written(days);
    this.uses.written(uses);
  }

  private forgetOldMonths(): void {
    const newestFirst = [...this.months.keys()].sort((a, b) => b - a);
    for (const month of newestFirst.slice(KEPT_MONTHS)) this.months.delete(month);
  }
}

/**
 * Writes counts that exceed the stored ones: counts only grow, so the greater one is newer.
 * @param node the node that counted them; null for this one
 */
async function mergeUsage(
  tx: Statements,
  node: string | null,
  usage: readonly KeyUsage[],
): Promise<void> {
  const merge = (table: string, key: string, rows: readonly SqlValue[][]): Promise<void> => {
    const merging = 'DO UPDATE SET calls = greatest(calls, EXCLUDED.calls)';
    if (node === null) return tx.append(table, rows, `(${key}) ${merging}`);
    const ofNode = rows.map((row) => [node, ...row]);
    return tx.append(`other_${table}`, ofNode, `(node, ${key}) ${merging}`);
  };
  const months = usage.map(({ keyId, month, calls }) => [keyId, month, calls]);
  const days = usage.flatMap(({ keyId, days }) =>
    days.map(({ day, endpoint, calls }) => [keyId, day, endpoint, calls]),
  );
  await merge('usage', 'key_id, month', months);
  await merge('usage_days', 'key_id, day, endpoint', days);
}

/** Key, month and calls; for a day's calls, also day and endpoint. */
type StoredUsage = [string, number, number, number | null, string | null];

function usageOf(rows: readonly StoredUsage[]): KeyUsage[] {
  const found = new Map<string, KeyUsage>();
  for (const [keyId, month, calls, day] of rows) {
    if (day === null) found.set(`${keyId} ${month}`, { keyId, month, calls, days: [] });
  }
  for (const [keyId, month, calls, day, endpoint] of rows) {
    if (day === null || endpoint === null) continue;
    found.get(`${keyId} ${month}`)?.days.push({ day, endpoint, calls });
  }
  return [...found.values()];
}
