/** Parquet: a file with a row per cell, made by DuckDB. */
import { open } from 'node:fs/promises';
import type { DataType } from 'apache-arrow';
import { BIN_FACTORS, MIN_BIN } from '../../compute/ladder.js';
import { dictionaryType, UTC_MILLISECONDS } from '../../compute/replay/arrow-columns.js';
import { arrow } from '../../compute/segment/arrow.js';
import { MemoryDatabase } from '../../storage/duckdb/memory-database.js';
import { fileColumns, partColumns, partPage } from './columnar.js';
import { dataAddress, slotColumns, type PageWriter } from './formats.js';
import type { Totals } from './totals.js';

/** Memory of the DuckDB that writes the file. */
const WRITER_MEMORY_MIB = 512;
const ROW_GROUP_ROWS = 122_880;

export const parquetWriter: PageWriter = {
  page: partPage,
  async convert(totals, part, to) {
    // With one thread, rows stay in order and the file is deterministic.
    const database = await MemoryDatabase.open({ memoryLimitMiB: WRITER_MEMORY_MIB, threads: 1 });
    try {
      await database.run(copyStatement(totals, part, to));
    } finally {
      database.close();
    }
    await markTimestampUtc(to);
  },
};

const PART_TYPES: Readonly<Record<string, string>> = {
  t: 'BIGINT',
  tier: 'VARCHAR',
  price_usd: 'DOUBLE',
  slot: 'INTEGER',
  bin: 'SMALLINT',
  support_usd: 'DOUBLE',
  resistance_usd: 'DOUBLE',
};

function copyStatement(totals: Totals, part: string, to: string): string {
  const types = partColumns(totals).map((name) => `${literal(name)}: ${literal(PART_TYPES[name])}`);
  // DuckDB's pow() and ours differ in the last bit of some factors.
  const factors = Array.from(BIN_FACTORS, (factor) => factor.toExponential()).join(', ');
  const expressions = new Map([
    ['chain', literal(totals.head.chain)],
    ['address', literal(dataAddress(totals))],
    ['timestamp', 'epoch_ms(t * 1000)::TIMESTAMP_MS'],
    ['price', `price_usd * list_extract([${factors}]::DOUBLE[], bin + ${1 - MIN_BIN})`],
    ...slotColumns(totals).map(({ name, values }): [string, string] => {
      const list = values.map((value) => (value === null ? 'NULL' : literal(value))).join(', ');
      return [name, `list_extract([${list}]::VARCHAR[], slot + 1)`];
    }),
  ]);
  const selected = fileColumns(totals).map((name) => `${expressions.get(name) ?? name} AS ${name}`);
  const source = `read_csv(${literal(globEscaped(part))}, columns = {${types.join(', ')}}, auto_detect = false, header = false, delim = ',', quote = '"', escape = '"')`;
  return `COPY (SELECT ${selected.join(', ')} FROM ${source}) TO ${literal(to)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${ROW_GROUP_ROWS}, USE_TMP_FILE false, KV_METADATA {${literal(ARROW_SCHEMA_KEY)}: ${literal(arrowSchema(totals))}})`;
}

/** The metadata key under which readers of Arrow tables look for the types of columns. */
const ARROW_SCHEMA_KEY = 'ARROW:schema';

const { Field, Float64, Int16, Int64, RecordBatchStreamWriter, Schema } = arrow;

/** Columns that hold no text. */
const ARROW_TYPES: Readonly<Partial<Record<string, DataType>>> = {
  t: new Int64(),
  price_usd: new Float64(),
  bin: new Int16(),
  support_usd: new Float64(),
  resistance_usd: new Float64(),
  timestamp: UTC_MILLISECONDS,
  price: new Float64(),
};

/**
 * The schema message of an Arrow stream of these columns, in base64. With it, Arrow, pandas and Polars read texts
 * as dictionaries, in about a quarter of the memory; others see texts.
 */
function arrowSchema(totals: Totals): string {
  const fields = fileColumns(totals).map(
    (name, i) => new Field(name, ARROW_TYPES[name] ?? dictionaryType(i), true),
  );
  const writer = new RecordBatchStreamWriter();
  writer.reset(undefined, new Schema(fields));
  writer.finish();
  const stream = Buffer.from(writer.toUint8Array(true));
  // A mark of four bytes, the message's length, the message; then the end of the stream.
  return stream.subarray(0, 8 + stream.readUInt32LE(4)).toString('base64');
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Escapes a path that DuckDB would read as a glob pattern. */
function globEscaped(path: string): string {
  return path.replace(/[[*?]/g, '[$&]');
}

/** Length of the footer and the mark `PAR1`, at the end of every file. */
const TAIL_BYTES = 8;
/**
 * The footer's entry of the column `timestamp`: its name, then in Thrift's compact protocol the converted
 * type TIMESTAMP_MILLIS and the logical type TIMESTAMP with isAdjustedToUTC false and the unit MILLIS.
 */
const LOCAL_TIMESTAMP = Buffer.from('timestamp\x25\x12\x4c\x8c\x12\x1c\x1c\0\0\0\0', 'latin1');
/** The position of isAdjustedToUTC in it, and the byte for true. */
const ADJUSTED_AT = 'timestamp'.length + 4;
const ADJUSTED = Uint8Array.of(0x11);

/**
 * Declares the times of the column `timestamp` to be UTC. DuckDB writes milliseconds only without a zone,
 * and times with a zone only in microseconds.
 */
async function markTimestampUtc(parquet: string): Promise<void> {
  const file = await open(parquet, 'r+');
  try {
    const { size } = await file.stat();
    const tail = Buffer.alloc(TAIL_BYTES);
    await file.read(tail, 0, TAIL_BYTES, size - TAIL_BYTES);
    const footer = Buffer.alloc(tail.readUInt32LE());
    const footerAt = size - TAIL_BYTES - footer.length;
    await file.read(footer, 0, footer.length, footerAt);
    const at = footer.indexOf(LOCAL_TIMESTAMP);
    if (at < 0) throw new Error('DuckDB wrote the column timestamp in an unknown form');
    await file.write(ADJUSTED, 0, ADJUSTED.length, footerAt + at + ADJUSTED_AT);
  } finally {
    await file.close();
  }
}
