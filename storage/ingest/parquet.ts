/** Reads Parquet files with DuckDB, one vector of rows at a time. */
import {
  CELL_NUMBERS,
  CELL_TEXTS,
  type CellColumns,
  cellNumbers,
  cellTexts,
  TextCoder,
} from '../../compute/ingest/cell-columns.js';
import { DuckDBError } from '../duckdb/duckdb-error.js';
import type { MemoryDatabase } from '../duckdb/memory-database.js';
import type { ResultChunk } from '../duckdb/statements.js';
import { InputError } from '../errors.js';
import type { LineChunk } from '../lines.js';
import {
  checkColumns,
  type ColumnKind,
  type ColumnsSeen,
  type FoundColumn,
  type NumberedRow,
  plainValue,
  readTimeNumber,
  readTimestamp,
  rowsOfColumns,
} from './columns.js';
import { FIELDS, type WantedColumn } from './fields.js';
import { timeNumber } from './time-units.js';

/** Digits of a decimal that DuckDB reads. */
const MAX_DECIMAL_DIGITS = 38;

/** Memory of the reader's separate DuckDB. */
const READER_MEMORY_MIB = 384;
/** Its memory for nested rows: it has up to 2,048 at once, each of which may be a whole book. */
const NESTED_MEMORY_MIB = 1024;

/** How many distinct rows of texts are kept parsed. */
const MAX_KNOWN_TEXTS = 16_384;
/** Replaces a value that is not a text: in a text column of another type, any value is a fault. */
const NO_TEXT = '0';

/** DuckDB's name for the number of a row in its file, from 0. */
const ROW_NUMBER = 'file_row_number';

/** Bytes of lines of JSON passed on at once. */
const LINES_BYTES = 1024 * 1024;
const NEWLINE = Buffer.from('\n');
/** Fields of nested rows that are texts of integers, if the file has integers. */
const INTEGERS_AS_TEXTS =
  /\b(sqrt_price_x96|liquidity_net|ticks) (?:U?(?:BIG|HUGE)INT|DECIMAL\(\d+,0\))((?:\[\])*)(?=[,)])/g;
const NO_JSON_NUMBER = /"(?:[^"\\]|\\.)*"|-?(?:NaN|Infinity)/g;

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
 * @param only the lines whose rows are of interest: others may be left out
 * @throws InputError if the file is damaged, cut short, not a Parquet file or lacks a column
 */
export async function* parquetRows(
  file: string,
  wanted: readonly WantedColumn[],
  onColumns?: ColumnsSeen,
  only?: ReadonlySet<number>,
): AsyncGenerator<NumberedRow[]> {
  yield* parquetSource(
    file,
    wanted,
    onColumns,
    async function* ({ reader, source, found }) {
      const columns = wanted.flatMap((column) => {
        const { type } = found.get(column.name) ?? {};
        return type === undefined ? [] : [readingOf(column, type)];
      });
      const list = columns.map(({ sql }) => sql);
      // A column of this name hides the rows' numbers.
      const isHidden = [...found.keys()].some((name) => name.toLowerCase() === ROW_NUMBER);
      const rowNumbers = only === undefined || isHidden ? null : [...only];
      let where = '';
      if (rowNumbers !== null) {
        list.push(ROW_NUMBER);
        where = ` WHERE ${ROW_NUMBER} IN (${rowNumbers.map((line) => line - 1).join(', ')})`;
      }
      let line = 0;
      for await (const chunk of reader.stream(`SELECT ${list.join(', ')} FROM ${source}${where}`)) {
        const read = columns.map((column, i) => ({ ...column, values: chunk.values(i) }));
        const numberOf = rowNumbers && chunk.reader(columns.length);
        yield rowsOfColumns(read, chunk.rowCount).map((row, i) => {
          line = numberOf === null ? line + 1 : Number(numberOf(i)) + 1;
          return { line, row };
        });
      }
    },
    memoryFor(wanted),
  );
}

/** Columns of any kind may be nested. */
const memoryFor = (wanted: readonly WantedColumn[]): number =>
  wanted.some(({ kind }) => kind === 'any') ? NESTED_MEMORY_MIB : READER_MEMORY_MIB;

/** What to select of a column, and how its values are read. */
function readingOf({ name, time }: WantedColumn, type: string) {
  const column = quoted(name);
  const isDecimal = type.startsWith('DECIMAL');
  if (time === undefined) {
    return { name, sql: isDecimal ? doubleOf(name, type) : exactOf(name, type), read: plainValue };
  }
  if (kindOf(type) === 'time') {
    const [epoch, perSecond] = type === 'TIMESTAMP_NS' ? ['epoch_ns', 1e9] : ['epoch_us', 1e6];
    return { name, sql: `${epoch}(${column})`, read: readTimestamp(time, perSecond) };
  }
  const read = (value: unknown): unknown =>
    isDecimal && typeof value === 'string' ? timeNumber(value) : readTimeNumber(value);
  return { name, sql: isDecimal ? `CAST(${column} AS VARCHAR)` : column, read };
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
  memoryLimitMiB = READER_MEMORY_MIB,
): AsyncGenerator<T> {
  // Other files are read while DuckDB is still loaded.
  const duckdb = await import('../duckdb/memory-database.js');
  const reader = await duckdb.MemoryDatabase.open({
    memoryLimitMiB,
    threads: 1,
  });
  try {
    const source = sourceOf(file);
    const found = await columnsOf(reader, file);
    onColumns?.([...found.keys()]);
    checkColumns(file, found, wanted);
    yield* read({ reader, source, found });
  } catch (error) {
    if (error instanceof InputError) throw error;
    if (error instanceof DuckDBError && error.isOutOfMemory) {
      throw new InputError(
        `${file}: ${memoryLimitMiB} MiB are too little to read it: write it with fewer rows in each row group, or as NDJSON`,
      );
    }
    const reason = error instanceof Error ? error.message.split('\n')[0] : 'unreadable';
    const plain = reason.replaceAll(file, 'the file').replace(/^[A-Za-z ]*Error: /, '');
    throw new InputError(`${file}: not a readable Parquet file (${plain})`);
  } finally {
    reader.close();
  }
}

async function columnsOf(reader: MemoryDatabase, file: string): Promise<FoundColumns> {
  const described = await reader.rows(`DESCRIBE SELECT * FROM ${sourceOf(file)}`);
  const digits = await longDecimals(reader, literalOf(file));
  const found = described as [name: string, type: string][];
  return new Map(
    found.map(([name, type], i) => {
      const column = { kind: kindOf(type), type };
      if (!digits.has(i)) return [name, column];
      const unreadable = `must be decimals of at most ${MAX_DECIMAL_DIGITS} digits in a Parquet file, these have ${digits.get(i)}: write them as DOUBLE, or the file as Arrow`;
      return [name, { ...column, unreadable }];
    }),
  );
}

/**
 * The digits of the decimals, by index of the column, that DuckDB would read as other numbers: it takes those that are
 * longer than its own for doubles, and misplaces their bytes (duckdb/duckdb#25058).
 */
async function longDecimals(reader: MemoryDatabase, literal: string): Promise<Map<number, number>> {
  const schema = await reader.rows(
    `SELECT coalesce(num_children, 0), coalesce(precision, 0) FROM parquet_schema(${literal})`,
  );
  const digits = new Map<number, number>();
  // How many fields each open group still has; the first row is the root.
  const open: number[] = [];
  let column = -1;
  for (const [children, precision] of (schema as [number, number][]).slice(1)) {
    if (open.length === 0) column++;
    else open[open.length - 1]--;
    if (precision > MAX_DECIMAL_DIGITS) digits.set(column, precision);
    if (children > 0) open.push(children);
    while (open.at(-1) === 0) open.pop();
  }
  return digits;
}

/** Folders named `column=value` add no columns. */
const sourceOf = (file: string): string =>
  `read_parquet(${literalOf(file)}, hive_partitioning = false)`;

/** Exactly this file: wildcards in its name are taken literally. */
const literalOf = (file: string): string =>
  `'${file.replaceAll(/[[*?]/g, '[$&]').replaceAll("'", "''")}'`;

/** A column's name in SQL. */
const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
/** The doubles nearest to a column's numbers: DuckDB rounds decimals twice, unless it reads them as texts. */
const doubleOf = (name: string, type: string): string =>
  type.startsWith('DECIMAL')
    ? `CAST(CAST(${quoted(name)} AS VARCHAR) AS DOUBLE)`
    : `CAST(${quoted(name)} AS DOUBLE)`;

/**
 * The rows of a file with nested columns as lines of JSON, which DuckDB makes: an object for each value of a list would
 * take four times the time and memory.
 * @throws InputError like parquetRows()
 */
export async function* parquetLines(
  file: string,
  wanted: readonly WantedColumn[],
  onColumns?: ColumnsSeen,
): AsyncGenerator<LineChunk> {
  yield* parquetSource(
    file,
    wanted,
    onColumns,
    async function* ({ reader, source, found }) {
      const fields = wanted.flatMap((column) => {
        const { type } = found.get(column.name) ?? {};
        return type === undefined ? [] : [`${quoted(column.name)} := ${jsonOf(column, type)}`];
      });
      const query = `SELECT encode(CAST(to_json(struct_pack(${fields.join(', ')})) AS VARCHAR)) FROM ${source}`;
      let firstLine = 1;
      for await (const chunk of reader.stream(query)) {
        const line = chunk.reader(0) as (row: number) => Uint8Array;
        for (let row = 0; row < chunk.rowCount;) {
          const lines: Uint8Array[] = [];
          let bytes = 0;
          for (; row < chunk.rowCount && bytes < LINES_BYTES; row++) {
            lines.push(plainJson(line(row)), NEWLINE);
            bytes += lines[lines.length - 2].length;
          }
          yield { bytes: Buffer.concat(lines), firstLine };
          firstLine += lines.length / 2;
        }
      }
    },
    NESTED_MEMORY_MIB,
  );
}

/** What to_json makes a field of. */
function jsonOf({ name, time }: WantedColumn, type: string): string {
  const column = quoted(name);
  if (time !== undefined) {
    if (kindOf(type) === 'time') return `CAST(floor(epoch_us(${column}) / 1e6) AS BIGINT)`;
    return wholeOr(column, type, column);
  }
  return exactOf(name, type);
}

/** A column whose nested integers are texts where the dataset has texts. */
function exactOf(name: string, type: string): string {
  const exact = type.replaceAll(INTEGERS_AS_TEXTS, '$1 VARCHAR$2');
  return exact === type ? quoted(name) : `CAST(${quoted(name)} AS ${exact})`;
}

/** A line as JSON has it: DuckDB writes NaN and Infinity. */
function plainJson(line: Uint8Array): Uint8Array {
  const text = Buffer.from(line.buffer, line.byteOffset, line.length);
  if (!text.includes('NaN') && !text.includes('Infinity')) return line;
  const plain = text
    .toString()
    .replace(NO_JSON_NUMBER, (part) => (part.startsWith('"') ? part : 'null'));
  return Buffer.from(plain);
}

/**
 * The rows of `cells` by column. DuckDB compares each row's texts with the previous row's and returns them only if one
 * changes: copying eight texts per row would take longer than everything else.
 * @throws InputError like parquetRows()
 */
export async function* parquetCells(
  file: string,
  onColumns?: ColumnsSeen,
): AsyncGenerator<CellColumns> {
  yield* parquetSource(file, FIELDS.cells, onColumns, async function* ({ reader, source, found }) {
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
  const columns = FIELDS.cells
    .filter(({ name }) => found.has(name))
    .map(({ name }) => quoted(name));
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
  const { kind, type } = found.get(name) ?? { kind: 'null', type: '' };
  const column = quoted(name);
  const orNan = (sql: string): string => `coalesce(${sql}, 'nan'::DOUBLE)`;
  if (kind === 'time' && name === 't') return orNan(`floor(epoch_us(${column}) / 1e6)`);
  if (kind !== 'number') return `'nan'::DOUBLE`;
  const number = orNan(doubleOf(name, type));
  return name === 't' ? wholeOr(column, type, number) : number;
}

/** The SQL of a time, but a fraction where a decimal has one, since such a time is refused: a double could hide it. */
const wholeOr = (column: string, type: string, sql: string): string =>
  type.startsWith('DECIMAL')
    ? `CASE WHEN ${column} = floor(${column}) THEN ${sql} ELSE 0.5 END`
    : sql;

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
const TEXT_TYPES = /^(VARCHAR|JSON|UUID|ENUM\(.*\))$/s;
const TIME_TYPES = /^(TIMESTAMP|DATE)/;

function kindOf(type: string): ColumnKind {
  if (type === '"NULL"' || type === 'NULL') return 'null';
  if (NUMBER_TYPES.test(type)) return 'number';
  if (type === 'BOOLEAN') return 'boolean';
  if (TIME_TYPES.test(type) && !type.endsWith('[]')) return 'time';
  return TEXT_TYPES.test(type) ? 'text' : 'other';
}
