/** Exports as their readers see them: DuckDB over the files, and the files themselves. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { MemoryDatabase } from '../../storage/duckdb/memory-database.js';
import type { SqlRow } from '../../storage/duckdb/statements.js';
import { digestOf } from '../support/cli.js';

/** Names of all files, below the folder. */
export const exportedFiles = (out: string): string[] =>
  readdirSync(out, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(out, path.join(entry.parentPath, entry.name)));

/** By file: what changes if it is written again. */
export const inodesOf = (out: string): Map<string, string> =>
  new Map(
    exportedFiles(out).map((name) => {
      const { ino, mtimeMs } = statSync(path.join(out, name));
      return [name, `${ino} ${mtimeMs}`];
    }),
  );

/** Rows of a dataset, of one token if it is given, in the order of the files and their rows. */
export async function rowsOf(
  out: string,
  dataset: string,
  columns: string,
  address?: string,
  rest = '',
): Promise<SqlRow[]> {
  const database = await MemoryDatabase.open({ memoryLimitMiB: 256, threads: 1 });
  try {
    const of = address === undefined ? '' : `WHERE address = '${address}'`;
    const files = `read_parquet('${out}/${dataset}/**/*.parquet', hive_partitioning = true)`;
    return await database.rows(`SELECT ${columns} FROM ${files} ${of} ${rest}`);
  } finally {
    database.close();
  }
}

/** The names of the files and the rows; the bytes, if these are the same. @param done what led to them, for messages */
export async function expectSameExport(
  done: readonly string[],
  out: string,
  fresh: string,
  datasets: readonly string[],
): Promise<void> {
  const present = datasets.filter((dataset) => existsSync(path.join(fresh, dataset)));
  expect([done, exportedFiles(out).sort()]).toEqual([done, exportedFiles(fresh).sort()]);
  for (const dataset of present) {
    if (digestOf(path.join(out, dataset)) === digestOf(path.join(fresh, dataset))) continue;
    const [rows, expected] = [await rowsIn(out, dataset), await rowsIn(fresh, dataset)];
    expect([done, dataset, rows]).toEqual([done, dataset, expected]);
  }
}

const rowsIn = (out: string, dataset: string): Promise<SqlRow[]> =>
  rowsOf(out, dataset, 'COLUMNS(*)::VARCHAR', undefined, 'ORDER BY ALL');
