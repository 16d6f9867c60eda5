/** Reads Parquet files with DuckDB, one vector of rows at a time. */
import {
  CELL_NUMBERS,
  CELL_TEXTS,
  type CellColumns,
  cellNumbers,
  cellTexts,
  TextCoder,
} from '../../compute/ingest/cell-columns.js';
import { MemoryDatabase } from '../duckdb/memory-database.js';
import type { ResultChunk } from '../duckdb/statements.js';
import { InputError } from '../errors.js';
import {
  CELL_COLUMNS,
  checkColumns,
  type ColumnKind,
  type ColumnsSeen,
  type FoundColumn,
  rowsOfColumns,
  type WantedColumn,
} from './columns.js';

/** Memory of the reader's separate DuckDB. */
const READER_MEMORY_MIB = 384;

/** How many distinct rows of texts are kept parsed. */
const MAX_KNOWN_TEXTS = 16_384;
/** Replaces a value that is not a text: in a text column of another type, any value is a fault. */
const NO_TEXT = '0';

/** A file's columns by name. */
type FoundColumns = ReadonlyMap<string, FoundColumn>;

interface OpenParquet {
  reader: MemoryDatabase;
  /** The file as an SQL table. */
  source: string;
  found: FoundColumns;
}

/**
 * The rows of a Parquet file as objects with the wanted columns, with lists and structs as in JSON; 64-bit integers
 * inside those are bigints.
 * @throws InputError if the file is damaged, cut short, not a Parquet file or lacks a column
 */
export async function* parquetRows(
  file: string,
  wanted: readonly WantedColumn[],
  onColumns?: ColumnsSeen,
): AsyncGenerator<Record<string, unknown>[]> {
  yield* parquetSource(file, wanted, onColumns, async function* ({ reader, source, found }) {
    const columns = wanted
      .filter(({ name }) => found.has(name))
      .map(({ name, time }) => ({
        name,
        time: found.get(name)?.kind === 'time' ? time : undefined,
      }));
    const list = columns.map(({ name, time }) => (time ? secondsOf(name) : quoted(name)));
    for await (const chunk of reader.stream(`SELECT ${list.join(', ')} FROM ${source}`)) {
      const read = columns.map((column, i) => ({ ...column, values: chunk.values(i) }));
      yield rowsOfColumns(read, chunk.rowCount);
    }
  });
}

/**
 * Opens a Parquet file for `read`, its columns checked.
 * @throws InputError like parquetRows()
 */
async function* parquetSource<T>(
  file: string,
  wanted: readonly WantedColumn[],
  onColumns: ColumnsSeen | undefined,
  read: (parquet: OpenParquet) => AsyncGenerator<T>,
): AsyncGenerator<T> {
  const reader = await MemoryDatabase.open({ memoryLimitMiB: READER_MEMORY_MIB, threads: 1 });
  try {
    const source = sourceOf(file);
    const described = await reader.rows(`DESCRIBE SELECT * FROM ${source}`);
    const found = new Map(
      described.map(([name, type]) => [
        name as string,
        { kind: kindOf(type as string), type: type as string },
      ]),
    );
    onColumns?.([...found.keys()]);
    checkColumns(file, found, wanted);
    yield* read({ reader, source, found });
  } catch (error) {
    if (error instanceof InputError) throw error;
    const reason = error instanceof Error ? error.message.split('\n')[0] : 'unreadable';
    const plain = reason.replaceAll(file, 'the file').replace(/^[A-Za-z ]*Error: /, '');
    throw new InputError(`${file}: not a readable Parquet file (${plain})`);
  } finally {
    reader.close();
  }
}

/**
 * Exactly this file: wildcards in its name are taken literally, and folders named `column=value` add no columns.
 */
function sourceOf(file: string): string {
  const literal = file.replaceAll(/[[*?]/g, '[$&]').replaceAll("'", "''");
  return `read_parquet('${literal}', hive_partitioning = false)`;
}

/** A column's name in SQL. */
const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
/** Epoch seconds of a column of timestamps, with their fraction. */
const secondsOf = (name: string): string => `epoch_us(${quoted(name)}) / 1e6`;

/**
 * The rows of `cells` by column. DuckDB compares each row's texts with the previous row's and returns them only if one
 * changes: copying eight texts per row would take longer than everything else.
 * @throws InputError like parquetRows()
 */
export async function* parquetCells(
  file: string,
  onColumns?: ColumnsSeen,
): AsyncGenerator<CellColumns> {
  yield* parquetSource(file, CELL_COLUMNS, onColumns, async function* ({ reader, source, found }) {
    const lists = new TextLists();
    for await (const chunk of reader.stream(cellQuery(source, found))) {
      yield cellsOf(chunk, lists);
    }
  });
}

/** The column after the number columns: 1 if a row's texts differ from the previous row's. */
const CHANGES = CELL_NUMBERS.length;
/** The column with those texts, as a JSON list. */
const TEXTS = CHANGES + 1;

function cellQuery(source: string, found: FoundColumns): string {
  const columns = CELL_COLUMNS.filter(({ name }) => found.has(name)).map(({ name }) =>
    quoted(name),
  );
  const texts = CELL_TEXTS.filter((name) => found.has(name)).map(quoted);
  const numbers = CELL_NUMBERS.map((name) => numberOf(name, found));
  const list = `json_array(${CELL_TEXTS.map((name) => textOf(name, found)).join(', ')})::VARCHAR`;
  // Of two different neighbours, one pair in 10^19 has the same hash. Comparing the texts themselves would double the
  // reading time.
  const changes = 'texts_hash IS DISTINCT FROM lag(texts_hash) OVER ()';
  return `SELECT ${numbers.join(', ')}, CAST(${changes} AS DOUBLE), CASE WHEN ${changes} THEN ${list} END
    FROM (SELECT ${columns.join(', ')}, hash(${texts.join(', ')}) AS texts_hash FROM ${source})`;
}

/** A number that is never null, as a double. */
function numberOf(name: string, found: FoundColumns): string {
  const kind = found.get(name)?.kind;
  if (kind === 'time' && name === 't') return `coalesce(floor(${secondsOf(name)}), 'nan'::DOUBLE)`;
  const missing = kind !== 'number';
  return missing ? `'nan'::DOUBLE` : `coalesce(CAST(${quoted(name)} AS DOUBLE), 'nan'::DOUBLE)`;
}

function textOf(name: string, found: FoundColumns): string {
  const kind = found.get(name)?.kind ?? 'null';
  if (kind === 'null') return 'NULL';
  if (kind === 'text') return `CAST(${quoted(name)} AS VARCHAR)`;
  return `CASE WHEN ${quoted(name)} IS NOT NULL THEN ${NO_TEXT} END`;
}

function cellsOf(chunk: ResultChunk, lists: TextLists): CellColumns {
  const changes = chunk.doubles(CHANGES);
  const list = chunk.reader(TEXTS) as (row: number) => string;
  const coder = new TextCoder();
  const starts = new Uint32Array(chunk.rowCount);
  const codes = new Uint32Array(chunk.rowCount);
  let runs = 0;
  for (let row = 0; row < chunk.rowCount; row++) {
    const isChanged = changes[row] === 1;
    if (!isChanged && row > 0) continue;
    if (isChanged) lists.last = list(row);
    starts[runs] = row;
    codes[runs++] = coder.code(lists.last);
  }
  const texts = coder.values.map((text) => lists.parsed(text as string));
  return {
    // DuckDB reuses a chunk's memory.
    ...cellNumbers((name) => chunk.doubles(CELL_NUMBERS.indexOf(name)).slice()),
    starts: starts.subarray(0, runs),
    texts: cellTexts((_, i) => ({
      codes: codes.subarray(0, runs),
      values: texts.map((values) => values[i]),
    })),
  };
}

/** Lists of texts as JSON, each parsed once. */
class TextLists {
  /** The list of the last row. */
  last = '';
  private readonly known = new Map<string, readonly unknown[]>();

  parsed(list: string): readonly unknown[] {
    let texts = this.known.get(list);
    if (texts === undefined) {
      if (this.known.size >= MAX_KNOWN_TEXTS) this.known.clear();
      texts = JSON.parse(list) as readonly unknown[];
      this.known.set(list, texts);
    }
    return texts;
  }
}

const NUMBER_TYPES = /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL\(.*\))$/;
const TEXT_TYPES = /^(VARCHAR|JSON|ENUM\(.*\))$/s;
const TIME_TYPES = /^(TIMESTAMP|DATE)/;

function kindOf(type: string): ColumnKind {
  if (type === '"NULL"' || type === 'NULL') return 'null';
  if (NUMBER_TYPES.test(type)) return 'number';
  if (type === 'BOOLEAN') return 'boolean';
  if (TIME_TYPES.test(type) && !type.endsWith('[]')) return 'time';
  return TEXT_TYPES.test(type) ? 'text' : 'other';
}
