/** Reads Parquet files through DuckDB, a vector of rows at a time. */
import { Database, type ResultChunk } from '../duckdb/database.js';
import { InputError } from '../errors.js';
import {
  CELL_COLUMNS,
  CELL_NUMBERS,
  CELL_TEXTS,
  cellBatch,
  nullCodes,
  type CellBatch,
} from './cell-batch.js';
import { checkColumns, type ColumnKind, type FoundColumn, type WantedColumn } from './columns.js';
import { RepeatedTexts } from './repeated-texts.js';

/** Rows of DuckDB's vectors. */
const CHUNK_ROWS = 2048;
/** Memory of the reader's own DuckDB. */
const READER_MEMORY_MIB = 384;

/** A file's columns by name, what DuckDB takes for its name, and where to ask. */
interface OpenParquet {
  reader: Database;
  source: string;
  found: ReadonlyMap<string, FoundColumn>;
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
  yield* readParquet(file, wanted, async function* ({ reader, source, found }) {
    const names = wanted.map(({ name }) => name).filter((name) => found.has(name));
    const list = names.map(quoted).join(', ');
    for await (const chunk of reader.streamChunks(`SELECT ${list} FROM ${source}`)) {
      const columns = names.map((_, i) => chunk.values(i));
      yield Array.from({ length: chunk.rowCount }, (_, row) =>
        Object.fromEntries(names.map((name, i) => [name, columns[i][row]])),
      );
    }
  });
}

/** The rows of a Parquet file of dataset `cells`. @throws InputError as parquetRows does */
export async function* parquetCells(file: string): AsyncGenerator<CellBatch> {
  yield* readParquet(file, CELL_COLUMNS, async function* ({ reader, source, found }) {
    const texts = CELL_TEXTS.filter((name) => found.has(name));
    const numbers = CELL_NUMBERS.map((name) => numberExpression(name, found));
    const list = [...numbers, ...texts.map((name) => textExpression(name, found)), changes(texts)];
    const repeated = new Map(texts.map((name) => [name, new RepeatedTexts()]));
    const doubles = CELL_NUMBERS.map(() => new Float64Array(CHUNK_ROWS));
    const bits = new Int32Array(CHUNK_ROWS);
    for await (const chunk of reader.streamChunks(`SELECT ${list.join(', ')} FROM ${source}`)) {
      const { rowCount } = chunk;
      const changed = readNumbers(chunk, list.length - 1, bits);
      yield cellBatch(
        rowCount,
        (name) => {
          const column = CELL_NUMBERS.indexOf(name);
          return readNumbers(chunk, column, doubles[column]);
        },
        (name) => {
          const index = texts.indexOf(name);
          if (index < 0) return nullCodes(rowCount);
          const item = chunk.reader(CELL_NUMBERS.length + index);
          return (repeated.get(name) as RepeatedTexts).read(
            rowCount,
            (row) => (changed[row] & (1 << index)) !== 0,
            item,
          );
        },
      );
    }
  });
}

async function* readParquet<T>(
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

const quoted = (name: string): string => `"${name}"`;

/** A number that is never null, as a double. */
function numberExpression(name: string, found: ReadonlyMap<string, FoundColumn>): string {
  const missing = found.get(name)?.kind !== 'number';
  return missing ? `'nan'::DOUBLE` : `coalesce(CAST(${quoted(name)} AS DOUBLE), 'nan'::DOUBLE)`;
}

function textExpression(name: string, found: ReadonlyMap<string, FoundColumn>): string {
  const isText = found.get(name)?.kind === 'text';
  return isText ? `CAST(${quoted(name)} AS VARCHAR)` : quoted(name);
}

/** Bit `i` is set where text `i` differs from the row before: the others need not be read. */
function changes(texts: readonly string[]): string {
  const bits = texts.map(
    (name, i) =>
      `((${quoted(name)} IS DISTINCT FROM lag(${quoted(name)}) OVER ())::INTEGER << ${i})`,
  );
  return bits.length === 0 ? '0' : bits.join(' | ');
}

/** Reads a column of numbers without nulls into the front of `into`, which takes any chunk. */
function readNumbers<A extends Float64Array | Int32Array>(
  chunk: ResultChunk,
  column: number,
  into: A,
): A {
  const item = chunk.reader(column) as (row: number) => number;
  const { rowCount } = chunk;
  for (let row = 0; row < rowCount; row++) into[row] = item(row);
  return into.subarray(0, rowCount) as A;
}

const NUMBERS = /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL\(.*\))$/;
const TEXTS = /^(VARCHAR|JSON|ENUM\(.*\))$/s;

function kindOf(type: string): ColumnKind {
  if (type === '"NULL"' || type === 'NULL') return 'null';
  if (NUMBERS.test(type)) return 'number';
  if (type === 'BOOLEAN') return 'boolean';
  return TEXTS.test(type) ? 'text' : 'other';
}
