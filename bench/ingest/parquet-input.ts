/** Parquet files as DuckDB writes them from text. */
import { rm } from 'node:fs/promises';
import { MemoryDatabase } from '../../storage/duckdb/memory-database.js';
import { linesOfCells } from './depth-lines.js';
import type { Pages, Written } from './written.js';

const MEMORY_MIB = 2048;

const CELL_TYPES =
  "{chain: 'VARCHAR', address: 'VARCHAR', t: 'BIGINT', tier: 'VARCHAR', price_usd: 'DOUBLE', source: 'VARCHAR', exchange_type: 'VARCHAR', type: 'VARCHAR', market_address: 'VARCHAR', pair: 'VARCHAR', bin: 'INTEGER', support_usd: 'DOUBLE', resistance_usd: 'DOUBLE'}";
const HOLDER_TYPES = "{token_address: 'VARCHAR', t: 'BIGINT', owner: 'VARCHAR', balance: 'DOUBLE'}";
const ORDER_TYPES =
  "{dca_address: 'VARCHAR', token_address: 'VARCHAR', direction: 'VARCHAR', paired_symbol: 'VARCHAR', deposited_usd: 'DOUBLE', remaining_usd: 'DOUBLE', cycle_usd: 'DOUBLE', cycle_frequency: 'BIGINT', next_cycle_at: 'BIGINT', min_usd: 'DOUBLE', max_usd: 'DOUBLE'}";

export function parquetOfCells(file: string, pages: Pages): Promise<Written> {
  const read = (from: string): string =>
    `read_csv('${from}', header = true, columns = ${CELL_TYPES})`;
  return copied(file, read, (text) => linesOfCells(text, pages, 'csv'));
}

/** @param write writes the rows as NDJSON */
export function parquetOfLines(
  file: string,
  dataset: 'holders' | 'dca_orders',
  write: (file: string) => Written,
): Promise<Written> {
  const types = dataset === 'holders' ? HOLDER_TYPES : ORDER_TYPES;
  const read = (from: string): string =>
    `read_json('${from}', format = 'newline_delimited', columns = ${types})`;
  return copied(file, read, write);
}

async function copied(
  file: string,
  read: (from: string) => string,
  write: (file: string) => Written,
): Promise<Written> {
  const text = `${file}.text`;
  const written = write(text);
  const database = await MemoryDatabase.open({ memoryLimitMiB: MEMORY_MIB, threads: 2 });
  try {
    await database.run(`COPY (SELECT * FROM ${read(text)}) TO '${file}' (FORMAT parquet)`);
  } finally {
    database.close();
    await rm(text);
  }
  return written;
}
