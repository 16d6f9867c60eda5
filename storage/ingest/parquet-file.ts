/** Reads Parquet files through DuckDB, a vector of rows at a time. */
import { access } from 'node:fs/promises';
import { Database } from '../duckdb/database.js';
import { InputError } from '../errors.js';

/** Memory of the reader's own DuckDB. */
const READER_MEMORY_MIB = 384;

export interface ColumnBatch {
  rowCount: number;
  /** Values by column; one that the file does not have is missing here. */
  columns: Map<string, unknown[]>;
}

/**
 * Yields the named columns of a Parquet file, numbers as numbers, lists and structs as JSON has them.
 * @throws InputError where the file is damaged, cut short or no Parquet file
 */
export async function* readParquet(
  file: string,
  names: readonly string[],
): AsyncGenerator<ColumnBatch> {
  await access(file).catch(() => {
    throw new InputError(`${file}: no such file`);
  });
  const reader = await Database.openMemory({ memoryLimitMiB: READER_MEMORY_MIB, threads: 1 });
  const source = `read_parquet('${file.replaceAll("'", "''")}')`;
  try {
    const described = await reader.rows(`DESCRIBE SELECT * FROM ${source}`);
    const present = names.filter((name) => described.some(([column]) => column === name));
    if (present.length === 0) return;
    const list = present.map((name) => `"${name}"`).join(', ');
    for await (const batch of reader.streamColumns(`SELECT ${list} FROM ${source}`)) {
      const columns = new Map(present.map((name, i) => [name, batch.columns[i]]));
      yield { rowCount: batch.rowCount, columns };
    }
  } catch (error) {
    if (error instanceof InputError) throw error;
    const reason = error instanceof Error ? error.message.split('\n')[0] : 'unreadable';
    throw new InputError(`${file}: not a readable Parquet file (${reason.replaceAll(file, 'it')})`);
  } finally {
    await reader.close();
  }
}
