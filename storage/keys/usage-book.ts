/**
 * The table `usage`: calls by node of a cluster, key, UTC day and endpoint, counted in memory and written behind. A key's
 * calls in a month are the sum of its rows.
 */
import type { CallCounter, DayUsage, KeyDayUsage, MonthUsage, UsageSource } from '../contract.js';
import type { Database } from '../duckdb/database.js';
import type { Statements } from '../duckdb/statements.js';
import { WriteBehind } from '../write-behind.js';
import { type KeyUse, KeyUses } from './key-uses.js';

/** Months whose sums are in memory: the clock may be set back by this many and the sums are complete. */
const KEPT_MONTHS = 4;
/** Keys of one reply, with their days and endpoints. */
const MAX_KEYS_AT_ONCE = 1000;
/** The node of calls that were counted by a single server. */
const NO_NODE = '';

export class UsageBook implements UsageSource {
  /** Sums of all nodes, with calls not written yet, by month, then key. */
  private readonly months = new Map<number, Map<string, { calls: number }>>();
  /** Calls not written yet by key, then day and endpoint. */
  private readonly unwritten = new Map<string, Map<string, KeyDayUsage>>();
  /** Ids of keys whose calls or uses must be written. */
  private readonly rows: WriteBehind<string>;
  private uses = new KeyUses([]);
  private node = NO_NODE;
  /** Ids of keys with calls since the last report; null if this is not a node of a cluster. */
  private fresh: Set<string> | null = null;
  /**
   * Calls that this process has written before its first report, by row: other nodes cannot know them. Null after the
   * first report.
   */
  private early: Map<string, number> | null = null;

  private constructor(
    private readonly database: Database,
    onError: (error: unknown) => void,
  ) {
    this.rows = new WriteBehind({
      write: (keyIds) => this.write(keyIds),
      onWritten: () => this.forgetOldMonths(),
      onError,
    });
  }

  /** Loads the sums of the last months. Failed writes are reported to `onError` and retried until they succeed. */
  static async load(database: Database, onError: (error: unknown) => void): Promise<UsageBook> {
    const book = new UsageBook(database, onError);
    const uses = await database.rows('SELECT key_id, used_at FROM key_uses');
    book.uses = new KeyUses(uses as KeyUse[]);
    const sums = await database.rows(
      `WITH months AS (SELECT DISTINCT day // 100 FROM usage ORDER BY 1 DESC LIMIT ${KEPT_MONTHS})
       SELECT key_id, day // 100, sum(calls)::BIGINT FROM usage
       WHERE day // 100 IN (FROM months) GROUP BY ALL`,
    );
    for (const [keyId, month, calls] of sums as [string, number, number][]) {
      book.sumOf(keyId, month).calls = calls;
    }
    return book;
  }

  /** Counts as a node of a cluster, also what a single server has counted. Call before anything is counted. */
  async countAs(node: string): Promise<void> {
    const [single] = await this.database.rows('SELECT 1 FROM usage WHERE node = ? LIMIT 1', [
      NO_NODE,
    ]);
    if (single !== undefined) {
      await this.database.shortTransaction(async (tx) => {
        await tx.run(
          `INSERT INTO usage SELECT ?, * EXCLUDE (node) FROM usage WHERE node = ? ON CONFLICT ${ADDING}`,
          [node, NO_NODE],
        );
        await tx.run('DELETE FROM usage WHERE node = ?', [NO_NODE]);
      });
    }
    this.node = node;
    this.fresh = new Set();
    this.early = new Map();
  }

  month(keyId: string, month: number): MonthUsage {
    return this.sumOf(keyId, month);
  }

  counter(keyId: string, day: number, endpoint: string): CallCounter {
    const name = `${day} ${endpoint}`;
    const sum = this.sumOf(keyId, monthOf(day));
    const add = (calls: number): void => {
      const rows = this.unwritten.get(keyId) ?? new Map<string, KeyDayUsage>();
      this.unwritten.set(keyId, rows);
      const row = rows.get(name) ?? { keyId, day, endpoint, calls: 0 };
      rows.set(name, row);
      row.calls += calls;
      sum.calls += calls;
      this.rows.mark(keyId);
      this.fresh?.add(keyId);
    };
    return { add };
  }

  use(keyId: string, hourS: number): void {
    if (this.uses.take(keyId, hourS)) this.rows.mark(keyId);
  }

  /** Start of the hour in which a key was last used (epoch seconds); null if no use is known. */
  lastUsedS(keyId: string): number | null {
    return this.uses.lastS(keyId);
  }

  async ofMonth(keyId: string, month: number): Promise<DayUsage[]> {
    const found = await this.rows.between(() => this.ofKeysIn(month, [keyId]));
    return found.map(({ day, endpoint, calls }) => ({ day, endpoint, calls }));
  }

  /** Calls in a month of the next keys with ids after `afterId`, by key, day, then endpoint. */
  ofKeys(month: number, afterId: string): Promise<KeyDayUsage[]> {
    return this.rows.between(async () => {
      const written = await this.database.rows(
        `SELECT DISTINCT key_id FROM usage WHERE key_id > ? AND ${isIn(month)}
         ORDER BY key_id LIMIT ${MAX_KEYS_AT_ONCE}`,
        [afterId],
      );
      const counted = this.unwrittenIn(month, this.unwritten.keys())
        .map(({ keyId }) => keyId)
        .filter((keyId) => keyId > afterId);
      const keyIds = [...new Set([...(written.flat() as string[]), ...counted])].sort();
      return this.ofKeysIn(month, keyIds.slice(0, MAX_KEYS_AT_ONCE));
    });
  }

  /**
   * This node's counts from a UTC day on. They are totals, so the next report makes up for a lost one.
   * @param isAll whether to include keys without calls since the last report
   */
  async report(sinceDay: number, isAll: boolean): Promise<KeyDayUsage[]> {
    const fresh = [...(this.fresh ?? [])];
    this.fresh?.clear();
    this.early = null;
    try {
      await this.rows.flush();
      return await this.ofNode(this.node, sinceDay, isAll ? null : fresh);
    } catch (error) {
      for (const keyId of fresh) this.fresh?.add(keyId);
      throw error;
    }
  }

  /** The known counts of another node from a UTC day on. */
  known(node: string, sinceDay: number): Promise<KeyDayUsage[]> {
    return this.ofNode(node, sinceDay, null);
  }

  /** Last uses to report to other nodes. @param isAll whether to report all again */
  usesToReport(isAll: boolean): KeyUse[] {
    return this.uses.toReport(isAll);
  }

  /**
   * Adds what the counts of a node exceed the stored ones by: counts only grow, so the greater one is newer. For this node
   * they are what others know of it, and exceed the stored ones after a kill or a restore from a backup: what this process
   * has counted before its first report is not among them, and stays beside them.
   */
  merge(node: string, reported: readonly KeyDayUsage[]): Promise<void> {
    return this.rows.between(async () => {
      if (reported.length === 0) return;
      const early = node === this.node ? this.early : null;
      const grown = await this.database.shortTransaction(async (tx) => {
        const stored = await storedCalls(tx, node, reported);
        const lacking = reported.flatMap((row) => {
          const name = nameOf(row);
          const calls = row.calls - (stored.get(name) ?? 0) + (early?.get(name) ?? 0);
          return calls > 0 ? [{ ...row, calls }] : [];
        });
        await addCalls(tx, node, lacking);
        return lacking;
      });
      for (const { keyId, day, calls } of grown) this.sumOf(keyId, monthOf(day)).calls += calls;
      if (node === this.node) for (const { keyId } of grown) this.fresh?.add(keyId);
    });
  }

  /** Resolves when all counts so far are written. @throws if that fails */
  flush(): Promise<void> {
    return this.rows.flush();
  }

  /** Writes the remaining counts; a failure is reported to `onError` and not retried. */
  close(): Promise<void> {
    return this.rows.close();
  }

  private sumOf(keyId: string, month: number): { calls: number } {
    let sums = this.months.get(month);
    if (sums === undefined) this.months.set(month, (sums = new Map<string, { calls: number }>()));
    let sum = sums.get(keyId);
    if (sum === undefined) sums.set(keyId, (sum = { calls: 0 }));
    return sum;
  }

  private forgetOldMonths(): void {
    const newestFirst = [...this.months.keys()].sort((a, b) => b - a);
    for (const month of newestFirst.slice(KEPT_MONTHS)) this.months.delete(month);
  }

  private unwrittenIn(month: number, keyIds: Iterable<string>): KeyDayUsage[] {
    return Array.from(keyIds, (keyId) => [...(this.unwritten.get(keyId)?.values() ?? [])])
      .flat()
      .filter(({ day }) => monthOf(day) === month);
  }

  /** Written calls and waiting ones: a query works on a full disk too. */
  private async ofKeysIn(month: number, keyIds: readonly string[]): Promise<KeyDayUsage[]> {
    if (keyIds.length === 0) return [];
    const written = await this.database.rows(
      `SELECT key_id, day, endpoint, sum(calls)::BIGINT FROM usage
       WHERE ${isOneOf(keyIds)} AND ${isIn(month)} GROUP BY ALL`,
      keyIds,
    );
    const found = new Map<string, KeyDayUsage>();
    for (const row of [...written.map(usageOf), ...this.unwrittenIn(month, keyIds)]) {
      const name = nameOf(row);
      found.set(name, { ...row, calls: row.calls + (found.get(name)?.calls ?? 0) });
    }
    return [...found.values()].sort(
      (a, b) =>
        compareTexts(a.keyId, b.keyId) || a.day - b.day || compareTexts(a.endpoint, b.endpoint),
    );
  }

  /** @param keyIds which keys; null for all */
  private async ofNode(
    node: string,
    sinceDay: number,
    keyIds: readonly string[] | null,
  ): Promise<KeyDayUsage[]> {
    if (keyIds?.length === 0) return [];
    const which = keyIds === null ? '' : ` AND ${isOneOf(keyIds)}`;
    const rows = await this.database.rows(
      `SELECT key_id, day, endpoint, calls FROM usage WHERE node = ? AND day >= ${sinceDay}${which}
       ORDER BY ALL`,
      [node, ...(keyIds ?? [])],
    );
    return rows.map(usageOf);
  }

  private async write(keyIds: readonly string[]): Promise<void> {
    // Taken at one moment, before anything is awaited.
    const taken = keyIds
      .flatMap((keyId) => [...(this.unwritten.get(keyId)?.values() ?? [])])
      .map((row) => ({ ...row }));
    const uses = this.uses.unwritten(keyIds);
    if (taken.length === 0 && uses.length === 0) return;
    await this.database.shortTransaction(async (tx) => {
      await addCalls(tx, this.node, taken);
      await tx.append(
        'key_uses',
        uses,
        '(key_id) DO UPDATE SET used_at = greatest(used_at, EXCLUDED.used_at)',
      );
    });
    for (const row of taken) this.forgetWritten(row);
    this.uses.written(uses);
  }

  /** More may have been counted while it was written. */
  private forgetWritten(written: KeyDayUsage): void {
    const { keyId, day, endpoint, calls } = written;
    const name = nameOf(written);
    this.early?.set(name, (this.early.get(name) ?? 0) + calls);
    const rows = this.unwritten.get(keyId);
    const row = rows?.get(`${day} ${endpoint}`);
    if (rows === undefined || row === undefined) return;
    row.calls -= calls;
    if (row.calls > 0) return;
    rows.delete(`${day} ${endpoint}`);
    if (rows.size === 0) this.unwritten.delete(keyId);
  }
}

/** What follows ON CONFLICT: the calls of both rows. */
const ADDING = '(node, key_id, day, endpoint) DO UPDATE SET calls = calls + EXCLUDED.calls';

/** Adds calls to a node's stored ones. */
function addCalls(tx: Statements, node: string, added: readonly KeyDayUsage[]): Promise<void> {
  const rows = added.map(({ keyId, day, endpoint, calls }) => [node, keyId, day, endpoint, calls]);
  return tx.append('usage', rows, ADDING);
}

/** A node's stored calls of the same keys, days and endpoints as some others, at least one. */
async function storedCalls(
  tx: Statements,
  node: string,
  others: readonly KeyDayUsage[],
): Promise<Map<string, number>> {
  const days = others.map(({ day }) => day);
  const found = new Map<string, number>();
  const chunks = tx.chunks(
    `SELECT key_id, day, endpoint, calls FROM usage
     SEMI JOIN given() ON key_id = c0 AND day = c1 AND endpoint = c2
     WHERE node = ? AND day BETWEEN ${Math.min(...days)} AND ${Math.max(...days)}`,
    [node],
    others.map(({ keyId, day, endpoint }) => [keyId, day, endpoint]),
  );
  for await (const chunk of chunks) {
    const [keyIds, dayNumbers, endpoints, calls] = [0, 1, 2, 3].map((column) =>
      chunk.values(column),
    );
    for (let i = 0; i < chunk.rowCount; i++) {
      found.set(`${keyIds[i]} ${dayNumbers[i]} ${endpoints[i]}`, Number(calls[i]));
    }
  }
  return found;
}

const nameOf = ({ keyId, day, endpoint }: KeyDayUsage): string => `${keyId} ${day} ${endpoint}`;

function usageOf(row: readonly unknown[]): KeyDayUsage {
  const [keyId, day, endpoint, calls] = row as [string, number, string, number];
  return { keyId, day, endpoint, calls };
}

/** A condition for the days of a month. */
const isIn = (month: number): string => `day BETWEEN ${month * 100 + 1} AND ${month * 100 + 31}`;

const isOneOf = (keyIds: readonly string[]): string =>
  `key_id IN (${keyIds.map(() => '?').join(', ')})`;

const monthOf = (day: number): number => Math.floor(day / 100);

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
