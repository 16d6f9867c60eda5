/** The table `usage_days`: calls by key, UTC day and endpoint, counted in memory and written behind. */
import type { CallCounter, DayUsage, DayUsageSource } from '../contract.js';
import type { Database } from '../duckdb/database.js';
import type { SqlValue } from '../duckdb/statements.js';
import { WriteBehind } from '../write-behind.js';

/** Calls that are not written yet. */
interface Unwritten extends DayUsage {
  keyId: string;
}

export class UsageDays implements DayUsageSource {
  /** By key, day and endpoint; empty once all are written. */
  private readonly unwritten = new Map<string, Unwritten>();
  private readonly rows: WriteBehind<Unwritten>;

  /** Failed writes go to `onError`, and are tried again until they succeed. */
  constructor(
    private readonly database: Database,
    onError: (error: unknown) => void,
  ) {
    this.rows = new WriteBehind({ write: (rows) => this.write(rows), onError });
  }

  counter(keyId: string, day: number, endpoint: string): CallCounter {
    const name = `${keyId} ${day} ${endpoint}`;
    const add = (calls: number): void => {
      let row = this.unwritten.get(name);
      if (row === undefined) {
        row = { keyId, day, endpoint, calls: 0 };
        this.unwritten.set(name, row);
      }
      row.calls += calls;
      this.rows.mark(row);
    };
    return { add };
  }

  async ofMonth(keyId: string, month: number): Promise<DayUsage[]> {
    await this.rows.flush();
    const rows = await this.database.rows(
      `SELECT day, endpoint, sum(calls)::BIGINT FROM
         (SELECT * FROM usage_days UNION ALL SELECT * EXCLUDE (node) FROM other_usage_days)
       WHERE key_id = ? AND day BETWEEN ${month * 100 + 1} AND ${month * 100 + 31}
       GROUP BY day, endpoint ORDER BY day, endpoint`,
      [keyId],
    );
    return (rows as [number, string, number][]).map(([day, endpoint, calls]) => {
      return { day, endpoint, calls };
    });
  }

  /**
   * Counts of keys from a day on.
   * @param node another one; null: this one
   */
  async since(
    keyIds: readonly string[],
    day: number,
    node: string | null,
  ): Promise<Map<string, DayUsage[]>> {
    await this.rows.flush();
    const rows = await this.database.rows(
      `SELECT key_id, day, endpoint, calls FROM ${node === null ? 'usage_days' : 'other_usage_days'}
       WHERE ${node === null ? '' : 'node = ? AND'} day >= ${day}
         AND key_id IN (${keyIds.map(() => '?').join(', ')})`,
      node === null ? keyIds : [node, ...keyIds],
    );
    const found = new Map<string, DayUsage[]>();
    for (const [keyId, day, endpoint, calls] of rows as [string, number, string, number][]) {
      const own = found.get(keyId) ?? [];
      own.push({ day, endpoint, calls });
      found.set(keyId, own);
    }
    return found;
  }

  /**
   * Takes over what a node has counted.
   * @param node another one; null: this one
   */
  async merge(
    node: string | null,
    usage: readonly { keyId: string; days: DayUsage[] }[],
  ): Promise<void> {
    const of: SqlValue[] = node === null ? [] : [node];
    const rows = usage.flatMap(({ keyId, days }) =>
      days.map(({ day, endpoint, calls }): SqlValue[] => [...of, keyId, day, endpoint, calls]),
    );
    if (rows.length === 0) return;
    const [table, key] = node === null ? ['usage_days', ''] : ['other_usage_days', 'node, '];
    await this.database.runAside(
      `INSERT INTO ${table} VALUES ${rows.map((row) => `(${row.map(() => '?').join(', ')})`).join(', ')}
       ON CONFLICT (${key}key_id, day, endpoint)
       DO UPDATE SET calls = greatest(calls, EXCLUDED.calls)`,
      rows.flat(),
    );
  }

  /** Writes what is left; a failure goes to `onError` and is not tried again. */
  close(): Promise<void> {
    return this.rows.close();
  }

  private async write(rows: readonly Unwritten[]): Promise<void> {
    const written = rows.map((row) => row.calls);
    const values = rows.flatMap(({ keyId, day, endpoint }, i): SqlValue[] => {
      return [keyId, day, endpoint, written[i]];
    });
    await this.database.runAside(
      `INSERT INTO usage_days VALUES ${rows.map(() => '(?, ?, ?, ?)').join(', ')}
       ON CONFLICT (key_id, day, endpoint) DO UPDATE SET calls = calls + EXCLUDED.calls`,
      values,
    );
    for (const [i, row] of rows.entries()) {
      row.calls -= written[i];
      if (row.calls === 0) this.unwritten.delete(`${row.keyId} ${row.day} ${row.endpoint}`);
    }
  }
}
