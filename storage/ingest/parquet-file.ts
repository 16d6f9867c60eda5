/** Reads Parquet files through DuckDB, a vector of rows at a time. */
import { Database } from '../duckdb/database.js';
import { InputError } from '../errors.js';
import {
  checkColumns,
  rowsOfColumns,
  type ColumnKind,
  type FoundColumn,
  type WantedColumn,
} from './columns.js';

/** Memory of the reader's own DuckDB. */
const READER_MEMORY_MIB = 384;

export type FoundColumns = ReadonlyMap<string, FoundColumn>;

/** A file's columns by name, what DuckDB takes for its name, and where to ask. */
export interface OpenParquet {
  reader: Database;
  source: string;
  found: FoundColumns;
}

/**
 * The rows of a Parquet file as objects of the wanted columns, lists and structs as JSON has them,
 * 64-bit integers as bigint.
 * @throws InputError where the file is damaged, cut short or no Parquet file, or lacks a column
 */
export async function* parquetRows(
  file: string,
  wanted: readonly WantedColumn[],
): AsyncGenerator<Record<string, unknown>[]> {
  yield* parquetSource(file, wanted, async function* ({ reader, source, found }) {
    const names = wanted.map(({ name }) => name).filter((name) => found.has(name));
    const list = names.map(quoted).join(', ');
    for await (const chunk of reader.streamChunks(`SELECT ${list} FROM ${source}`)) {
      yield rowsOfColumns(
        names.map((name, i) => ({ name, values: chunk.values(i) })),
        chunk.rowCount,
      );
    }
  });
}

/**
 * Opens a Parquet file for `read`, its columns checked.
 * @throws InputError as parquetRows does
 */
export async function* parquetSource<T>(
  file: string,
  wanted: readonly WantedColumn[],
  read: (parquet: OpenParquet) => AsyncGenerator<T>,
): AsyncGenerator<T> {
  const reader = await Database.openMemory({ memoryLimitMiB: READER_MEMORY_MIB, threads: 1 });
  try {
    const source = sourceOf(file);
    const described = await reader.rows(`DESCRIBE SELECT * FROM ${source}`);
    const found = new Map(
      described.map(([name, type]) => [
        name as string,
        { kind: kindOf(type as string), type: type as string },
      ]),
    );
    checkColumns(file, found, wanted);
    yield* read({ reader, source, found });
  } catch (error) {
    if (error instanceof InputError) throw error;
    const reason = error instanceof Error ? error.message.split('\n')[0] : 'unreadable';
    const plain = reason.replaceAll(file, 'the file').replace(/^[A-Za-z ]*Error: /, '');
    throw new InputError(`${file}: not a readable Parquet file (${plain})`);
  } finally {
    await reader.close();
  }
}

/**
 * The one file, whatever its name: wildcards are taken literally, and folders named `column=value`
 * add no columns.
 */
function sourceOf(file: string): string {
  const literal = file.replaceAll(/[[*?]/g, '[$&]').replaceAll("'", "''");
  return `read_parquet('${literal}', hive_partitioning = false)`;
}

/** A column's name in SQL: none of ours has a quote. */
export const quoted = (name: string): string => `"${name}"`;

const NUMBERS = /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL\(.*\))$/;
const TEXTS = /^(VARCHAR|JSON|ENUM\(.*\))$/s;

function kindOf(type: string): ColumnKind {
  if (type === '"NULL"' || type === 'NULL') return 'null';
  if (NUMBERS.test(type)) return 'number';
  if (type === 'BOOLEAN') return 'boolean';
  return TEXTS.test(type) ? 'text' : 'other';
}
