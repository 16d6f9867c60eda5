/**
 * Parquet, through DuckDB: a row a cell, columns as CSV has them. The part file is CSV with markets
 * as indexes, a fifth of the full text; DuckDB makes the Parquet file out of it at the end.
 */
import { Database } from '../../storage/duckdb/database.js';
import { dataAddress, slotColumns, type TextColumn } from './columns.js';
import { cellLines } from './csv.js';
import type { Totals } from './totals.js';
import type { PageWriter } from './writer.js';

/** Memory of the DuckDB that writes the file. */
const WRITER_MEMORY_MIB = 512;
const ROW_GROUP_ROWS = 122_880;

export const parquetWriter: PageWriter = {
  *page(page, totals) {
    // The leading 0 takes the place of what all lines share.
    yield* cellLines(
      page,
      totals,
      '0',
      totals.slots.map((_, slot) => `,${slot}`),
    );
  },
  end: () => [],
  async convert(totals, part, to) {
    // One thread keeps the rows in their order, and the file the same from run to run.
    const database = await Database.openMemory({ memoryLimitMiB: WRITER_MEMORY_MIB, threads: 1 });
    try {
      await database.run(copyStatement(totals, part, to));
    } finally {
      await database.close();
    }
  },
};

function copyStatement(totals: Totals, part: string, to: string): string {
  const slots = slotColumns(totals);
  const hasSlot = totals.head.group !== 'all';
  const types = [
    ['none', 'UTINYINT'],
    ['t', 'BIGINT'],
    ['tier', 'VARCHAR'],
    ['price_usd', 'DOUBLE'],
    ...(hasSlot ? [['slot', 'INTEGER']] : []),
    ['bin', 'SMALLINT'],
    ['support_usd', 'DOUBLE'],
    ['resistance_usd', 'DOUBLE'],
  ];
  const columns = types.map(([name, type]) => `${literal(name)}: ${literal(type)}`).join(', ');
  const selected = [
    `${literal(totals.head.chain)} AS chain`,
    `${literal(dataAddress(totals))} AS address`,
    't, tier, price_usd',
    ...slots.map(textOfSlot),
    'bin, support_usd, resistance_usd',
  ];
  const source = `read_csv(${literal(globEscaped(part))}, columns = {${columns}}, auto_detect = false, header = false, delim = ',', quote = '"', escape = '"')`;
  return `COPY (SELECT ${selected.join(', ')} FROM ${source}) TO ${literal(to)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${ROW_GROUP_ROWS}, USE_TMP_FILE false)`;
}

function textOfSlot({ name, values }: TextColumn): string {
  const list = values.map((value) => (value === null ? 'NULL' : literal(value))).join(', ');
  return `list_extract([${list}]::VARCHAR[], slot + 1) AS ${name}`;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A path that means itself where DuckDB looks for patterns. */
function globEscaped(path: string): string {
  return path.replace(/[[*?]/g, '[$&]');
}
