/** The table `meta`: what a store knows about itself, one text per key. */
import type { Statements } from './duckdb/statements.js';

/** Texts by key. */
export type Meta = ReadonlyMap<string, string>;

export async function readMeta(statements: Pick<Statements, 'rows'>): Promise<Meta> {
  return new Map((await statements.rows('SELECT key, value FROM meta')) as [string, string][]);
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
