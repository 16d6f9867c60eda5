/**
 * Arrow and Parquet: one row per cell, with the columns of CSV. The part file is CSV with indexes in
 * place of markets, a fifth of the size; it is converted at the end.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  Dictionary,
  Field,
  Float64,
  Int16,
  Int32,
  RecordBatch,
  RecordBatchFileWriter,
  Schema,
  Struct,
  Uint32,
  Utf8,
  makeData,
  vectorFromArray,
  type DataType,
} from 'apache-arrow';
import { Database } from '../../storage/duckdb/database.js';
import { cellLines, columnNames, dataAddress, slotColumns, type PageWriter } from './formats.js';
import type { Totals } from './totals.js';

const compactPage: PageWriter['page'] = (page, totals) =>
  cellLines(
    page,
    totals,
    '',
    totals.slots.map((_, slot) => `,${slot}`),
  );

/** An Arrow IPC file with dictionary-encoded texts. */
export const arrowWriter: PageWriter = {
  page: compactPage,
  async convert(totals, part, to) {
    const writer = new RecordBatchFileWriter();
    const written = pipeline(Readable.from(writer), createWriteStream(to));
    const columns = arrowColumns(totals);
    const schema = new Schema(columns.map(({ field }) => field));
    try {
      for await (const rows of rowBatches(part)) writer.write(batchOf(schema, columns, rows));
      writer.finish();
    } catch (error) {
      writer.abort(error);
    }
    await written;
  },
};

/** Rows of one record batch. */
const BATCH_ROWS = 65_536;

async function* rowBatches(part: string): AsyncIterable<string[][]> {
  let rows: string[][] = [];
  for await (const line of createInterface({ input: createReadStream(part) })) {
    rows.push(line.split(','));
    if (rows.length < BATCH_ROWS) continue;
    yield rows;
    rows = [];
  }
  yield rows;
}

interface ArrowColumn {
  field: Field;
  dictionary?: unknown;
  /** The column's numbers or dictionary codes, -1 for null. */
  values: (rows: readonly string[][]) => ArrayLike<number>;
}

function arrowColumns(totals: Totals): ArrowColumn[] {
  const compact = ['t', 'tier', 'price_usd', ...(totals.head.group === 'all' ? [] : ['slot'])];
  compact.push('bin', 'support_usd', 'resistance_usd');
  const at = (name: string) => compact.indexOf(name);
  const slots = new Map(slotColumns(totals).map((column) => [column.name, column]));
  const numbers = (name: string, type: DataType, make: (rows: number[]) => ArrayLike<number>) => ({
    field: new Field(name, type, false),
    values: (rows: readonly string[][]) => make(rows.map((row) => Number(row[at(name)]))),
  });
  let dictionaries = 0;
  const texts = (
    name: string,
    list: readonly (string | null)[],
    index: (row: string[]) => number,
    nullable = false,
  ): ArrowColumn => {
    const distinct = [...new Set(list.filter((text) => text !== null))];
    const codes = list.map((text) => (text === null ? -1 : distinct.indexOf(text)));
    const type = new Dictionary(new Utf8(), new Int32(), dictionaries++, false);
    return {
      field: new Field(name, type, nullable),
      dictionary: vectorFromArray(distinct, new Utf8()),
      values: (rows) => Int32Array.from(rows, (row) => codes[index(row)]),
    };
  };
  const doubles = (name: string) => numbers(name, new Float64(), (v) => Float64Array.from(v));
  return columnNames(totals).map((name): ArrowColumn => {
    switch (name) {
      case 'chain':
        return texts(name, [totals.head.chain], () => 0);
      case 'address':
        return texts(name, [dataAddress(totals)], () => 0);
      case 'tier':
        return texts(name, totals.tiers, (row) => totals.tiers.indexOf(row[at('tier')]));
      case 't':
        return numbers(name, new Uint32(), (v) => Uint32Array.from(v));
      case 'bin':
        return numbers(name, new Int16(), (v) => Int16Array.from(v));
      case 'price_usd':
      case 'support_usd':
      case 'resistance_usd':
        return doubles(name);
      default: {
        const { values = [], nullable = false } = slots.get(name) ?? {};
        return texts(name, values, (row) => Number(row[at('slot')]), nullable);
      }
    }
  });
}

function batchOf(
  schema: Schema,
  columns: readonly ArrowColumn[],
  rows: readonly string[][],
): RecordBatch {
  const { length } = rows;
  const children = columns.map(({ field, dictionary, values }) => {
    const type = field.type as DataType;
    const data = values(rows);
    if (dictionary === undefined) return makeData({ type, length, nullCount: 0, data } as never);
    const codes = data as Int32Array;
    const isNull = (code: number) => code < 0;
    const nullCount = codes.filter(isNull).length;
    const nullBitmap = nullCount === 0 ? {} : { nullBitmap: validityBitmap(codes) };
    const clamped = codes.map((code) => Math.max(code, 0));
    return makeData({ type, length, nullCount, ...nullBitmap, data: clamped, dictionary } as never);
  });
  const struct = makeData({ type: new Struct(schema.fields), length, nullCount: 0, children });
  return new RecordBatch(schema, struct as never);
}

/** Bit i, from the lowest of each byte, is set if row i has a value. */
function validityBitmap(codes: Int32Array): Uint8Array {
  const bitmap = new Uint8Array((codes.length + 7) >> 3);
  codes.forEach((code, i) => {
    if (code >= 0) bitmap[i >> 3] |= 1 << (i & 7);
  });
  return bitmap;
}

/** Memory of the DuckDB that writes the Parquet file. */
const WRITER_MEMORY_MIB = 512;
const ROW_GROUP_ROWS = 122_880;

export const parquetWriter: PageWriter = {
  page: compactPage,
  async convert(totals, part, to) {
    // With one thread, rows stay in order and the file is deterministic.
    const database = await Database.openMemory({ memoryLimitMiB: WRITER_MEMORY_MIB, threads: 1 });
    try {
      await database.run(copyStatement(totals, part, to));
    } finally {
      await database.close();
    }
  },
};

function copyStatement(totals: Totals, part: string, to: string): string {
  const types = [
    ['t', 'BIGINT'],
    ['tier', 'VARCHAR'],
    ['price_usd', 'DOUBLE'],
    ...(totals.head.group === 'all' ? [] : [['slot', 'INTEGER']]),
    ['bin', 'SMALLINT'],
    ['support_usd', 'DOUBLE'],
    ['resistance_usd', 'DOUBLE'],
  ];
  const columns = types.map(([name, type]) => `${literal(name)}: ${literal(type)}`).join(', ');
  const expressions = new Map([
    ['chain', literal(totals.head.chain)],
    ['address', literal(dataAddress(totals))],
    ...slotColumns(totals).map(({ name, values }): [string, string] => {
      const list = values.map((value) => (value === null ? 'NULL' : literal(value))).join(', ');
      return [name, `list_extract([${list}]::VARCHAR[], slot + 1)`];
    }),
  ]);
  const selected = columnNames(totals).map((name) => `${expressions.get(name) ?? name} AS ${name}`);
  const source = `read_csv(${literal(globEscaped(part))}, columns = {${columns}}, auto_detect = false, header = false, delim = ',', quote = '"', escape = '"')`;
  return `COPY (SELECT ${selected.join(', ')} FROM ${source}) TO ${literal(to)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${ROW_GROUP_ROWS}, USE_TMP_FILE false)`;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Escapes a path that DuckDB would read as a glob pattern. */
function globEscaped(path: string): string {
  return path.replace(/[[*?]/g, '[$&]');
}
