/**
 * A transaction that writes nothing to its database's file. DuckDB writes full row groups to the file before the commit
 * and leaves them there after a rollback; so new rows go to a scratch database elsewhere.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { migrate } from '../migrations.js';
import { Database } from './database.js';
import type {
  GivenRow,
  ResultChunk,
  SqlValue,
  SqlRow,
  Statements,
  StoredValue,
} from './statements.js';

/** DuckDB's memory limit for a scratch database. */
const SCRATCH_MEMORY_MIB = 256;

/** Runs `body` in a transaction of an empty database with our tables, and removes the database afterwards. */
export async function withScratch<T>(body: (scratch: Statements) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(path.join(tmpdir(), 'fathom-scratch-'));
  try {
    const file = path.join(directory, 'scratch.duckdb');
    const database = await Database.openFile(file, {
      memoryLimitMiB: SCRATCH_MEMORY_MIB,
      threads: 1,
    });
    try {
      await migrate(database, 0);
      return await database.rehearsal(body);
    } finally {
      await database.close();
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/**
 * Shows the rows of a store and of a scratch database as one. Appended rows go to the scratch database; statements, which
 * delete or change rows, run on both. A query must select rows, not sums over them: each side answers only for its own.
 */
export class Overlay implements Statements {
  private readonly sides: readonly Statements[];

  constructor(
    stored: Statements,
    private readonly scratch: Statements,
  ) {
    this.sides = [stored, scratch];
  }

  async run(sql: string, values?: readonly SqlValue[], given?: readonly GivenRow[]): Promise<void> {
    for (const side of this.sides) await side.run(sql, values, given);
  }

  async rows(sql: string, values?: readonly SqlValue[]): Promise<SqlRow[]> {
    const found: SqlRow[] = [];
    for (const side of this.sides) for (const row of await side.rows(sql, values)) found.push(row);
    return found;
  }

  async values(sql: string): Promise<Map<number, StoredValue>> {
    const found = new Map<number, StoredValue>();
    for (const side of this.sides) {
      for (const [key, value] of await side.values(sql)) found.set(key, value);
    }
    return found;
  }

  async count(table: string): Promise<number> {
    let rows = 0;
    for (const side of this.sides) rows += await side.count(table);
    return rows;
  }

  async *chunks(
    sql: string,
    values?: readonly SqlValue[],
    given?: readonly GivenRow[],
  ): AsyncGenerator<ResultChunk> {
    for (const side of this.sides) yield* side.chunks(sql, values, given);
  }

  append(table: string, rows: readonly GivenRow[], onConflict?: string): Promise<void> {
    return this.scratch.append(table, rows, onConflict);
  }
}
