/** Up to when an operator lets retention take all that is due, however much (docs/operating.md#retention). */
import type { Statements } from './duckdb/statements.js';

const META_KEY = 'retention_allowed_to';

/** Epoch seconds; 0: nobody has allowed anything. */
export async function readAllowance(statements: Pick<Statements, 'rows'>): Promise<number> {
  const rows = await statements.rows('SELECT value FROM meta WHERE key = ?', [META_KEY]);
  return rows.length === 0 ? 0 : Number(rows[0][0]);
}

export async function writeAllowance(tx: Statements, toS: number): Promise<void> {
  await tx.run('DELETE FROM meta WHERE key = ?', [META_KEY]);
  await tx.run('INSERT INTO meta VALUES (?, ?)', [META_KEY, String(toS)]);
}
