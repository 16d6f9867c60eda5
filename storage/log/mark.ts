/** Which entries of its log a store has applied: written in the same transaction as an entry's changes. */
import type { Statements } from '../duckdb/statements.js';

export interface LogMark {
  logId: string;
  /** Position of the last entry that was applied. */
  position: number;
  entryId: string;
}

const META_KEY = 'log';

export async function readMark(statements: Pick<Statements, 'rows'>): Promise<LogMark | null> {
  const rows = await statements.rows('SELECT value FROM meta WHERE key = ?', [META_KEY]);
  return rows.length === 0 ? null : (JSON.parse(rows[0][0] as string) as LogMark);
}

export async function removeMark(tx: Statements): Promise<void> {
  await tx.run('DELETE FROM meta WHERE key = ?', [META_KEY]);
}

export async function writeMark(tx: Statements, mark: LogMark): Promise<void> {
  await removeMark(tx);
  await tx.run('INSERT INTO meta VALUES (?, ?)', [META_KEY, JSON.stringify(mark)]);
}
