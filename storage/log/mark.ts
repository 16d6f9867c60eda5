/** Which entries of its log a store has applied: the mark is written in the same transaction as an entry's changes. */
import type { Statements } from '../duckdb/statements.js';
import { readMeta, writeMeta } from '../meta.js';

export interface LogMark {
  logId: string;
  /** Position of the last applied entry. */
  position: number;
  entryId: string;
}

const META_KEY = 'log';

export async function readMark(statements: Pick<Statements, 'rows'>): Promise<LogMark | null> {
  const text = await readMeta(statements, META_KEY);
  return text === null ? null : (JSON.parse(text) as LogMark);
}

/** @param mark null if the store leaves its log */
export function writeMark(tx: Statements, mark: LogMark | null): Promise<void> {
  return writeMeta(tx, META_KEY, mark && JSON.stringify(mark));
}
