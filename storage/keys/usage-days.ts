/** The table `usage_days`: calls by key, UTC day and endpoint, counted in memory and written with those by month. */
import type { CallCounter, DayUsage, DayUsageSource, KeyDayUsage } from '../contract.js';
import type { Database } from '../duckdb/database.js';
import type { Statements } from '../duckdb/statements.js';

/** Calls being written; more may be counted in the meantime. */
interface TakenCount {
  row: KeyDayUsage;
  calls: number;
}

/** Keys of one reply, with their days and endpoints. */
const MAX_KEYS_AT_ONCE = 1000;

export class UsageDays implements DayUsageSource {
  /** By key, then day and endpoint; empty once all are written. */
  private readonly unwritten = new Map<string, Map<string, KeyDayUsage>>();

  constructor(
    private readonly database: Database,
    /** Called with each key that has calls to write. */
    private readonly onCounted: (keyId: string) => void,
    /** Reads while nothing is being written. */
    private readonly betweenWrites: <T>(read: () => Promise<T>) => Promise<T>,
  ) {}

  counter(keyId: string, day: number, endpoint: string): CallCounter {
    const name = `${day} ${endpoint}`;
    const add = (calls: number): void => {
      const rows = this.unwritten.get(keyId) ?? new Map<string, KeyDayUsage>();
      this.unwritten.set(keyId, rows);
      const row = rows.get(name) ?? { keyId, day, endpoint, calls: 0 };
      rows.set(name, row);
      row.calls += calls;
      this.onCounted(keyId);
    };
    return { add };
  }

  async ofMonth(keyId: string, month: number): Promise<DayUsage[]> {
    const found = await this.betweenWrites(() => this.of(month, [keyId]));
    return found.map(({ day, endpoint, calls }) => ({ day, endpoint, calls }));
  }

  /** Calls in a month of the next keys with ids after `afterId`, by key, day, then endpoint. */
  ofKeys(month: number, afterId: string): Promise<KeyDayUsage[]> {
    const [first, last] = daysOf(month);
    return this.betweenWrites(async () => {
      const written = await this.database.rows(
        `SELECT DISTINCT key_id FROM
           (SELECT key_id, day FROM usage_days UNION ALL SELECT key_id, day FROM other_usage_days)
         WHERE key_id > ? AND day BETWEEN ${first} AND ${last} ORDER BY key_id LIMIT ${MAX_KEYS_AT_ONCE}`,
        [afterId],
      );
      const unwritten = [...this.unwritten.values()].flatMap((rows) => [...rows.values()]);
      const counted = unwritten
        .filter(({ keyId, day }) => keyId > afterId && day >= first && day <= last)
        .map(({ keyId }) => keyId);
      const keyIds = [...new Set([...(written.flat() as string[]), ...counted])].sort();
      return this.of(month, keyIds.slice(0, MAX_KEYS_AT_ONCE));
    });
  }

  /** Written calls and waiting ones: a query works on a full disk too. */
  private async of(month: number, keyIds: readonly string[]): Promise<KeyDayUsage[]> {
    if (keyIds.length === 0) return [];
    const [first, last] = daysOf(month);
    const rows = await this.database.rows(
      `SELECT key_id, day, endpoint, sum(calls)::BIGINT FROM
         (SELECT * FROM usage_days UNION ALL SELECT * EXCLUDE (node) FROM other_usage_days)
       WHERE key_id IN (${keyIds.map(() => '?').join(', ')}) AND day BETWEEN ${first} AND ${last}
       GROUP BY key_id, day, endpoint`,
      [...keyIds],
    );
    const found = new Map<string, KeyDayUsage>();
    const add = ({ keyId, day, endpoint, calls }: KeyDayUsage): void => {
      const name = `${keyId} ${day} ${endpoint}`;
      const before = found.get(name)?.calls ?? 0;
      found.set(name, { keyId, day, endpoint, calls: calls + before });
    };
    for (const [keyId, day, endpoint, calls] of rows as [string, number, string, number][]) {
      add({ keyId, day, endpoint, calls });
    }
    for (const row of keyIds.flatMap((id) => [...(this.unwritten.get(id)?.values() ?? [])])) {
      if (row.day >= first && row.day <= last) add(row);
    }
    return [...found.values()].sort(
      (a, b) =>
        compareTexts(a.keyId, b.keyId) || a.day - b.day || compareTexts(a.endpoint, b.endpoint),
    );
  }

  /** What must be written for some keys. */
  take(keyIds: readonly string[]): TakenCount[] {
    return keyIds.flatMap((keyId) =>
      Array.from(this.unwritten.get(keyId)?.values() ?? [], (row) => ({ row, calls: row.calls })),
    );
  }

  /** Writes what take() returned. Call written() once the transaction is committed. */
  write(tx: Statements, taken: readonly TakenCount[]): Promise<void> {
    return tx.append(
      'usage_days',
      taken.map(({ row, calls }) => [row.keyId, row.day, row.endpoint, calls]),
      '(key_id, day, endpoint) DO UPDATE SET calls = calls + EXCLUDED.calls',
    );
  }

  /** Forgets calls that have been written. */
  written(taken: readonly TakenCount[]): void {
    for (const { row, calls } of taken) {
      row.calls -= calls;
      if (row.calls > 0) continue;
      const rows = this.unwritten.get(row.keyId);
      rows?.delete(`${row.day} ${row.endpoint}`);
      if (rows?.size === 0) this.unwritten.delete(row.keyId);
    }
  }
}

/** The first and last day of a month. */
const daysOf = (month: number): [number, number] => [month * 100 + 1, month * 100 + 31];

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
