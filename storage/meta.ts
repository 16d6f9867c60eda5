/** The table `meta`: what a store knows about itself, one text per key. */
import type { Statements } from './duckdb/statements.js';

/** Null if the key has no value. */
export async function readMeta(
  statements: Pick<Statements, 'rows'>,
  key: string,
): Promise<string | null> {
  const rows = await statements.rows('SELECT value FROM meta WHERE key = ?', [key]);
  return rows.length === 0 ? null : (rows[0][0] as string);
}

/** Replaces a key's value; null removes it. */
export async function writeMeta(
  statements: Pick<Statements, 'run'>,
  key: string,
  value: string | null,
): Promise<void> {
  await statements.run('DELETE FROM meta WHERE key = ?', [key]);
  if (value !== null) await statements.run('INSERT INTO meta VALUES (?, ?)', [key, value]);
}
