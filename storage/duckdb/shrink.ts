/**
 * Returns the free space of a database's file to the disk. At a checkpoint, DuckDB cuts free blocks off the end of its
 * file; it fills the free blocks nearest to the beginning first. So rows at the end are written again, into the gaps.
 */
import { stat } from 'node:fs/promises';
import type { Shrunk } from '../operations.js';
import type { Database } from './database.js';
import type { Statements } from './statements.js';

/** So few free blocks (of 256 KiB) are not worth the work. */
const SPARE_BLOCKS = 16;
/** Row groups moved per step, each in a separate transaction: at most some 4 MB each. */
const GROUPS_PER_STEP = 4;

/** Rows `first <= rowid <= last`. */
interface RowGroup {
  table: string;
  first: number;
  last: number;
}

/**
 * Moves some rows and makes a checkpoint. Moving changes no content, so it is harmless if a commit has put other rows
 * there in the meantime.
 * @param exclusive runs a function while nothing is being committed
 */
export async function shrinkStep(
  database: Database,
  file: string,
  exclusive: <T>(body: () => Promise<T>) => Promise<T>,
): Promise<Shrunk> {
  // Space freed since the last checkpoint counts only after the next one.
  await exclusive(() => database.checkpoint());
  const { used, free } = await sizeOf(database);
  const groups = free > SPARE_BLOCKS ? await lastGroups(database, used) : [];
  for (const group of groups) {
    await exclusive(() => database.exclusiveTransaction((tx) => rewrite(tx, group)));
  }
  await exclusive(() => database.checkpoint(true));
  const after = await sizeOf(database);
  const { size: bytes } = await stat(file);
  return { bytes, freeBytes: after.free * after.blockBytes, isDone: groups.length === 0 };
}

async function rewrite(tx: Statements, { table, first, last }: RowGroup): Promise<void> {
  const rows = `${table} WHERE rowid BETWEEN ${first} AND ${last}`;
  await tx.run(`CREATE TEMP TABLE moved AS SELECT * FROM ${rows}`);
  await tx.run(`DELETE FROM ${rows}`);
  await tx.run(`INSERT INTO ${table} SELECT * FROM moved`);
  await tx.run('DROP TABLE moved');
}

async function sizeOf(
  database: Database,
): Promise<{ used: number; free: number; blockBytes: number }> {
  const [[used, free, blockBytes]] = (await database.rows(
    `SELECT used_blocks, free_blocks, block_size FROM pragma_database_size()
     WHERE database_name = 'store'`,
  )) as number[][];
  return { used, free, blockBytes };
}

/** The last row groups in the file, beyond the size that it would have without gaps. */
async function lastGroups(database: Database, usedBlocks: number): Promise<RowGroup[]> {
  const tables = await database.rows(
    "SELECT table_name FROM duckdb_tables() WHERE database_name = 'store'",
  );
  const groups = tables.flat().map(
    (table) =>
      `SELECT '${String(table)}' AS name, row_group_id, max(block_id) AS block,
         sum(count) FILTER (WHERE column_id = 0 AND segment_type <> 'VALIDITY') AS n
       FROM pragma_storage_info('${String(table)}') GROUP BY row_group_id`,
  );
  const rows = await database.rows(
    `SELECT name, first::BIGINT, (first + n - 1)::BIGINT FROM (
       SELECT *, sum(n) OVER (PARTITION BY name ORDER BY row_group_id) - n AS first
       FROM (${groups.join(' UNION ALL ')}))
     WHERE block >= ${usedBlocks} ORDER BY block DESC LIMIT ${GROUPS_PER_STEP}`,
  );
  return (rows as [string, number, number][]).map(([table, first, last]) => ({
    table,
    first,
    last,
  }));
}
