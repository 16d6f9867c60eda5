/** Queries over an export: a view for each dataset. */
import { mkdtemp, opendir, realpath, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { absent, InputError } from '../errors.js';
import { type CheckedQuery, QueryDatabase, queryError } from '../duckdb/query-database.js';
import { globEscaped, literal } from '../parquet-file.js';
import { readIndex } from './folder.js';
import { DATASETS_BY_CHAIN, EXPORT_DATASETS, EXPORT_FOLDERS } from './layout.js';

/** Memory of the DuckDB that runs the query; it writes the rest into a temporary folder. */
const QUERY_MEMORY_MIB = 1024;

/** Runs `body` with a temporary folder, which is removed afterwards. */
export async function withTemporaryFolder<T>(body: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(path.join(await realpath(tmpdir()), 'fathom-sql-'));
  return body(folder).finally(() => rm(folder, { recursive: true, force: true }));
}

/**
 * Opens an export for queries.
 * @param temporary a folder for what does not fit into memory
 * @throws InputError if the folder holds no export
 */
export async function openExport(folder: string, temporary: string): Promise<QueryDatabase> {
  if ((await readIndex(folder)) === null) {
    throw new InputError(
      `--export: ${folder} holds no export: expected a folder that fathom export wrote`,
    );
  }
  const real = await realpath(folder);
  const views: string[] = [];
  for (const dataset of EXPORT_FOLDERS) {
    if (!(await hasFiles(path.join(real, dataset)))) continue;
    const files = literal(globEscaped(path.join(real, dataset)) + '/**/*.parquet');
    const hive = DATASETS_BY_CHAIN.includes(dataset)
      ? `, hive_types = {'chain': VARCHAR, 'date': DATE}`
      : '';
    views.push(
      `CREATE VIEW ${dataset} AS SELECT * FROM read_parquet(${files}, hive_partitioning = true${hive})`,
    );
  }
  return QueryDatabase.open({
    memoryLimitMiB: QUERY_MEMORY_MIB,
    threads: availableParallelism(),
    views,
    folders: [temporary, real],
  });
}

/** Whether a dataset has any file; DuckDB makes no view of none. */
async function hasFiles(folder: string): Promise<boolean> {
  const entries = await opendir(folder, { recursive: true }).catch(absent);
  for await (const { name } of entries ?? []) if (name.endsWith('.parquet')) return true;
  return false;
}

/** The datasets that a query may name. */
export const datasetsIn = (sql: string): (typeof EXPORT_DATASETS)[number][] =>
  EXPORT_DATASETS.filter((dataset) => new RegExp(`\\b${dataset}\\b`, 'i').test(sql));

/**
 * As QueryDatabase.check(); an error about a dataset that the export lacks says how to add it.
 * @param folder null for a temporary export
 * @throws InputError
 */
export async function checkQuery(
  database: QueryDatabase,
  sql: string,
  folder: string | null,
): Promise<CheckedQuery> {
  try {
    return await database.check(sql);
  } catch (error) {
    const [, missing] = /Table with name (\w+) does not exist/.exec(String(error)) ?? [];
    if (!EXPORT_DATASETS.some((dataset) => dataset === missing?.toLowerCase())) throw error;
    if (folder === null) {
      throw new InputError(`SQL: there are no ${missing} of these tokens in this window`);
    }
    throw new InputError(
      `SQL: ${folder} has no ${missing}: fathom export --out ${folder} --dataset ${missing} adds those that the store has`,
    );
  }
}

/** Columns that JSON and texts show as JSON. */
const NESTED = /\[|^(STRUCT|MAP|UNION|JSON)\b/;

/** The query's rows as texts, null for NULL; nested values as JSON. */
export async function* textRows(
  database: QueryDatabase,
  { from, columns }: CheckedQuery,
): AsyncGenerator<(string | null)[][]> {
  const selected = columns.map(({ name, type }) => {
    const quoted = `"${name.replaceAll('"', '""')}"`;
    return `${NESTED.test(type) ? `to_json(${quoted})` : quoted}::VARCHAR AS ${quoted}`;
  });
  try {
    for await (const chunk of database.stream(`SELECT ${selected.join(', ')} FROM ${from}`)) {
      const readers = columns.map((_, i) => chunk.reader(i));
      yield Array.from({ length: chunk.rowCount }, (_, row) =>
        readers.map((read) => read(row) as string | null),
      );
    }
  } catch (error) {
    throw queryError(error);
  }
}

export const isNested = (type: string): boolean => NESTED.test(type);

/** Writes the query's rows into a Parquet file. @throws InputError */
export async function writeQuery(
  database: QueryDatabase,
  { from }: CheckedQuery,
  file: string,
): Promise<void> {
  try {
    await database.run(
      `COPY (SELECT * FROM ${from}) TO ${literal(file)} (FORMAT parquet, COMPRESSION zstd)`,
    );
  } catch (error) {
    throw queryError(error);
  }
}
