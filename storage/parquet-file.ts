/** Writes Parquet files, by DuckDB: zstd, statistics for each row group, times in UTC. */
import { open } from 'node:fs/promises';
import type { DataType } from 'apache-arrow';
import { dictionaryType, UTC_MILLISECONDS } from '../compute/replay/arrow-columns.js';
import { arrow } from '../compute/segment/arrow.js';
import { MemoryDatabase } from './duckdb/memory-database.js';
import type { GivenTable } from './duckdb/given-columns.js';

/** Memory of the DuckDB that writes a file. */
const WRITER_MEMORY_MIB = 512;
const ROW_GROUP_ROWS = 122_880;

const { Field, Float64, Int16, Int32, Int64, RecordBatchStreamWriter, Schema } = arrow;

/** Types of columns without text, as readers of Arrow tables see them. */
const ARROW_TYPES = {
  BIGINT: new Int64(),
  INTEGER: new Int32(),
  SMALLINT: new Int16(),
  DOUBLE: new Float64(),
  TIMESTAMP_MS: UTC_MILLISECONDS,
} as const satisfies Record<string, DataType>;

export interface ParquetColumn {
  name: string;
  type: keyof typeof ARROW_TYPES | 'VARCHAR';
  /** An expression over the source's columns. */
  sql: string;
}

/** The rows of a file. */
export interface ParquetSource {
  columns: readonly ParquetColumn[];
  /** What follows FROM. */
  from: string;
  /** The columns that `from` reads as `given_columns()`. */
  table?: GivenTable;
}

/** Writes one file at a time. */
export class ParquetWriter {
  private constructor(private readonly database: MemoryDatabase) {}

  static async open(): Promise<ParquetWriter> {
    // With one thread, rows stay in order and the file is deterministic.
    return new ParquetWriter(
      await MemoryDatabase.open({ memoryLimitMiB: WRITER_MEMORY_MIB, threads: 1 }),
    );
  }

  /**
   * Writes a file, which must not exist; it is not flushed to the disk.
   * @throws DiskFullError; what the table's next() throws
   */
  async write({ columns, from, table }: ParquetSource, to: string): Promise<void> {
    const selected = columns.map(({ name, sql }) => `${sql} AS ${name}`).join(', ');
    const copy = `COPY (SELECT ${selected} FROM ${from}) TO ${literal(to)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${ROW_GROUP_ROWS}, USE_TMP_FILE false, KV_METADATA {${literal(ARROW_SCHEMA_KEY)}: ${literal(arrowSchema(columns))}})`;
    await (table === undefined ? this.database.run(copy) : this.database.runOn(table, copy));
    if (columns.some(({ name }) => name === 'timestamp')) await markTimestampUtc(to);
  }

  close(): void {
    this.database.close();
  }
}

/** The metadata key under which readers of Arrow tables look for the types of columns. */
const ARROW_SCHEMA_KEY = 'ARROW:schema';

/**
 * The schema message of an Arrow stream of these columns, in base64. With it, Arrow, pandas and Polars read texts
 * as dictionaries, in about a quarter of the memory; others see texts.
 */
function arrowSchema(columns: readonly ParquetColumn[]): string {
  const fields = columns.map(
    ({ name, type }, i) =>
      new Field(name, type === 'VARCHAR' ? dictionaryType(i) : ARROW_TYPES[type], true),
  );
  const writer = new RecordBatchStreamWriter();
  writer.reset(undefined, new Schema(fields));
  writer.finish();
  const stream = Buffer.from(writer.toUint8Array(true));
  // A mark of four bytes, the message's length, the message; then the end of the stream.
  return stream.subarray(0, 8 + stream.readUInt32LE(4)).toString('base64');
}

/** A text in SQL. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Escapes a path that DuckDB would read as a glob pattern. */
export function globEscaped(path: string): string {
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
