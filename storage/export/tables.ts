/** The files of datasets that are tables of the store: read whole, and given to the writer as columns. */
import { createHash } from 'node:crypto';
import { distinctTexts } from '../../compute/replay/arrow-columns.js';
import { DAY_S } from '../../compute/time.js';
import type { GivenColumn, GivenTable, GivenValues } from '../duckdb/given-columns.js';
import type { StoreOperations } from '../operations.js';
import type { ParquetColumn, ParquetSource, ParquetWriter } from '../parquet-file.js';
import type { ExportJob, Window } from './job.js';
import { dayOf, TABLE_DATASETS, tableFile, tableOfFile, TOKENS } from './layout.js';
import {
  type ExportTableName,
  tableOf,
  type TablePart,
  type TableRows,
  TEXT,
} from './table-columns.js';

/** Attempts to read a table that changes meanwhile. */
const MAX_READS = 10;

/** Brings the datasets up to date that are tables: whole ones, and the days of the window. */
export async function exportTables(job: ExportJob, writer: ParquetWriter): Promise<void> {
  const { datasets, folder, fromS, toS } = job.request;
  for (const table of [TOKENS, ...TABLE_DATASETS] as const) {
    if (table !== TOKENS && !datasets.includes(table)) continue;
    const days = { fromS: dayOf(fromS), toS: dayOf(toS - 1) + DAY_S };
    const parts = await job.store.exportTableParts(table, days.fromS, days.toS);
    const kept = new Set(parts.map(({ dayS }) => tableFile(table, dayS)));
    for (const part of parts) await writeTable(job, table, part, days, writer);
    for (const file of Object.keys(folder.files)) {
      const named = tableOfFile(file);
      if (named?.table !== table || kept.has(file)) continue;
      const { dayS } = named;
      if (dayS === null || (dayS >= days.fromS && dayS < days.toS)) job.dropped.add(file);
    }
  }
}

async function writeTable(
  job: ExportJob,
  table: ExportTableName,
  wanted: TablePart,
  days: Window,
  writer: ParquetWriter,
): Promise<void> {
  const { dayS } = wanted;
  const file = tableFile(table, dayS);
  if (await job.isAsListed(file, digestOfPart(table, wanted))) return;
  const read = await readPart(job.store, table, wanted);
  if (read === null) {
    if (job.request.folder.files[file] !== undefined) job.dropped.add(file);
    return;
  }
  const { part, rowCount, source } = read;
  const window = dayS === null ? days : { fromS: dayS, toS: dayS + DAY_S };
  await job.put(file, digestOfPart(table, part), window, async (to) => {
    await writer.write(source, to);
    return rowCount;
  });
}

/** The digest of a file in `_fathom.json`. */
const digestOfPart = (name: ExportTableName, { digest }: TablePart): string =>
  createHash('sha256').update(`${name} ${digest}`).digest('hex').slice(0, 32);

/** A table's rows, read whole, and what they are: another reading of the table may have found others. */
interface ReadPart {
  part: TablePart;
  rowCount: number;
  source: ParquetSource;
}

/** Reads the rows of a file; null if there are none any more. @throws Error if it changes all the time */
async function readPart(
  store: StoreOperations,
  name: ExportTableName,
  wanted: TablePart,
): Promise<ReadPart | null> {
  const { dayS } = wanted;
  let part: TablePart | undefined = wanted;
  for (let reads = 0; reads < MAX_READS && part !== undefined; reads++) {
    const batches: TableRows[] = [];
    for (let after: number | null = 0; after !== null;) {
      const rows = await store.exportTableRows(name, dayS, after);
      batches.push(rows);
      after = rows.next;
    }
    const [from, to] = [dayS ?? 0, (dayS ?? 0) + DAY_S];
    const now: TablePart | undefined = (await store.exportTableParts(name, from, to))[0];
    if (now?.digest === part.digest) return { part, ...sourceOf(name, batches) };
    part = now as TablePart | undefined;
  }
  if (part === undefined) return null;
  throw new Error(`${name} changes faster than it can be read`);
}

function sourceOf(
  name: ExportTableName,
  batches: readonly TableRows[],
): Pick<ReadPart, 'rowCount' | 'source'> {
  const { columns, hour, order } = tableOf(name);
  const types = Object.entries(columns);
  const parts = types.map((_, i) => batches.map((batch) => batch.columns[i]));
  const rowCount = parts[0].reduce((sum, { length }) => sum + length, 0);
  const given: GivenColumn[] = [];
  const values: GivenValues[] = [];
  types.forEach(([column, type], i) => {
    if (type === TEXT) {
      const { values: texts, codes } = distinctTexts(parts[i].flatMap((one) => one as string[]));
      given.push({ name: column, type: { texts }, nullable: true });
      values.push(codes);
    } else {
      given.push({ name: column, type: 'DOUBLE', nullable: true });
      values.push(Float64Array.from(parts[i].flatMap((one) => [...(one as Float64Array)])));
    }
  });
  let isRead = false;
  const table: GivenTable = {
    columns: given,
    next: () => {
      if (isRead || rowCount === 0) return null;
      isRead = true;
      return { rowCount, columns: values };
    },
  };
  const shown = types.map(([column, type]): ParquetColumn => {
    return { name: column, type, sql: type === 'BIGINT' ? `${column}::BIGINT` : column };
  });
  if (hour !== null) {
    const sql = `epoch_ms(${hour}::BIGINT * 1000)::TIMESTAMP_MS`;
    shown.push({ name: 'timestamp', type: 'TIMESTAMP_MS', sql });
  }
  // Texts are ENUMs, which sort by their place in the list.
  const texts = types.filter(([, type]) => type === TEXT).map(([column]) => column);
  const replaced = texts.map((column) => `${column}::VARCHAR AS ${column}`).join(', ');
  const rows = `SELECT * REPLACE (${replaced}) FROM given_columns()`;
  return { rowCount, source: { columns: shown, from: `(${rows} ORDER BY ${order})`, table } };
}
