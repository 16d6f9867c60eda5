/** Which entries of its log a store has applied: the mark is written in the same transaction as an entry's changes. */
import type { Statements } from '../duckdb/statements.js';
import { type Meta, writeMeta } from '../meta.js';

export interface LogMark {
  logId: string;
  /** Position of the last applied entry. */
  position: number;
  entryId: string;
  /** When the log took that entry, in epoch milliseconds. */
  timeMs: number;
  /** Whether the log is the folder of a single server; false: a cluster's. */
  isOwn: boolean;
}

const META_KEY = 'log';

export function markOf(meta: Meta): LogMark | null {
  return JSON.parse(meta.get(META_KEY) ?? 'null') as LogMark | null;
}

/** @param mark null if the store leaves its log */
export function writeMark(tx: Statements, mark: LogMark | null): Promise<void> {
  return writeMeta(tx, META_KEY, mark && JSON.stringify(mark));
}
