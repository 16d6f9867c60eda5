/** The table `usage_days`: calls by key, UTC day and endpoint, counted in memory and written with those by month. */
import type { CallCounter, DayUsage, DayUsageSource } from '../contract.js';
import type { Database } from '../duckdb/database.js';
import type { SqlValue, Statements } from '../duckdb/statements.js';
import { MAX_STATEMENT_ROWS } from '../write-behind.js';

/** Calls that are not written yet. */
interface Unwritten extends DayUsage {
  keyId: string;
}

/** Calls that are being written: more may be counted meanwhile. */
interface Taken {
  row: Unwritten;
  calls: number;
}

export class UsageDays implements DayUsageSource {
  /** By key, then day and endpoint; empty once all are written. */
  private readonly unwritten = new Map<string, Map<string, Unwritten>>();

  constructor(
    private readonly database: Database,
    /** Told which key has calls to be written. */
    private readonly onCounted: (keyId: string) => void,
    /** Reads while nothing is being written. */
    private readonly betweenWrites: <T>(read: () => Promise<T>) => Promise<T>,
  ) {}

  counter(keyId: string, day: number, endpoint: string): CallCounter {
    const name = `${day} ${endpoint}`;
    const add = (calls: number): void => {
      const rows = this.unwritten.get(keyId) ?? new Map<string, Unwritten>();
      this.unwritten.set(keyId, rows);
      const row = rows.get(name) ?? { keyId, day, endpoint, calls: 0 };
      rows.set(name, row);
      row.calls += calls;
      this.onCounted(keyId);
    };
    return { add };
  }

  /** What is written, and what is not yet: a full disk keeps nobody from asking. */
  ofMonth(keyId: string, month: number): Promise<DayUsage[]> {
    const [first, last] = [month * 100 + 1, month * 100 + 31];
    return this.betweenWrites(async () => {
      const rows = await this.database.rows(
        `SELECT day, endpoint, sum(calls)::BIGINT FROM
           (SELECT * FROM usage_days UNION ALL SELECT * EXCLUDE (node) FROM other_usage_days)
         WHERE key_id = ? AND day BETWEEN ${first} AND ${last}
         GROUP BY day, endpoint`,
        [keyId],
      );
      const found = new Map<string, DayUsage>();
      const add = ({ day, endpoint, calls }: DayUsage): void => {
        const name = `${day} ${endpoint}`;
        found.set(name, { day, endpoint, calls: calls + (found.get(name)?.calls ?? 0) });
      };
      for (const [day, endpoint, calls] of rows as [number, string, number][]) {
        add({ day, endpoint, calls });
      }
      for (const row of this.unwritten.get(keyId)?.values() ?? []) {
        if (row.day >= first && row.day <= last) add(row);
      }
      return [...found.values()].sort(
        (a, b) => a.day - b.day || (a.endpoint < b.endpoint ? -1 : 1),
      );
    });
  }

  /** What is to be written of some keys. */
  take(keyIds: readonly string[]): Taken[] {
    return keyIds.flatMap((keyId) =>
      Array.from(this.unwritten.get(keyId)?.values() ?? [], (row) => ({ row, calls: row.calls })),
    );
  }

  /** Writes it. Call written() once the transaction is committed. */
  write(tx: Statements, taken: readonly Taken[]): Promise<void> {
    return insertRows(
      tx,
      'usage_days',
      taken.map(({ row, calls }) => [row.keyId, row.day, row.endpoint, calls]),
      '(key_id, day, endpoint) DO UPDATE SET calls = calls + EXCLUDED.calls',
    );
  }

  /** Forgets what is written by now. */
  written(taken: readonly Taken[]): void {
    for (const { row, calls } of taken) {
      row.calls -= calls;
      if (row.calls > 0) continue;
      const rows = this.unwritten.get(row.keyId);
      rows?.delete(`${row.day} ${row.endpoint}`);
      if (rows?.size === 0) this.unwritten.delete(row.keyId);
    }
  }

  /**
   * Writes what a node has counted.
   * @param node another one; null: this one
   */
  merge(
    tx: Statements,
    node: string | null,
    usage: readonly { keyId: string; days: DayUsage[] }[],
  ): Promise<void> {
    const of: SqlValue[] = node === null ? [] : [node];
    const [table, key] = node === null ? ['usage_days', ''] : ['other_usage_days', 'node, '];
    return insertRows(
      tx,
      table,
      usage.flatMap(({ keyId, days }) =>
        days.map(({ day, endpoint, calls }): SqlValue[] => [...of, keyId, day, endpoint, calls]),
      ),
      `(${key}key_id, day, endpoint) DO UPDATE SET calls = greatest(calls, EXCLUDED.calls)`,
    );
  }
}

/** @param onConflict what follows ON CONFLICT */
export async function insertRows(
  tx: Statements,
  table: string,
  rows: readonly (readonly SqlValue[])[],
  onConflict: string,
): Promise<void> {
  for (let from = 0; from < rows.length; from += MAX_STATEMENT_ROWS) {
    const some = rows.slice(from, from + MAX_STATEMENT_ROWS);
    const marks = some.map((row) => `(${row.map(() => '?').join(', ')})`).join(', ');
    await tx.run(`INSERT INTO ${table} VALUES ${marks} ON CONFLICT ${onConflict}`, some.flat());
  }
}
