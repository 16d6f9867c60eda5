/** Flat tables: their columns and keys, and readers of their rows. */
import { TextCoder } from '../compute/ingest/cell-columns.js';
import type { FlatDataset } from './contract.js';
import type { Database } from './duckdb/database.js';
import type { ResultChunk, SqlValue } from './duckdb/statements.js';
import { Turns } from './turns.js';
import { widened } from './typed-arrays.js';

/** Kinds of columns. `shared` texts repeat in many rows; each is kept once. */
interface Kinds {
  text: string;
  shared: string;
  number: number;
  nullable: number | null;
}

/** Columns in the table's order, key columns first. */
type Columns = Readonly<Record<string, keyof Kinds>>;

/** The table of a flat dataset. */
export interface FlatTable<C extends Columns = Columns> {
  name: FlatDataset;
  columns: C;
  /** How many columns make up the key. */
  keyColumns: number;
  /** The column with the row's token, if listeners are told which tokens changed. */
  token?: string;
  /** The key column whose values rise from file to file: with it DuckDB searches only a few row groups. */
  rising?: string;
  /** The greatest number of rows, and what messages call them. */
  limit?: { rows: number; of: string };
}

export type FlatSource = Pick<Database, 'streamChunks'>;

/** Reads a value by row. */
type Read<T> = (row: number) => T;

/** Readers of a chunk's columns, by name. */
export type ColumnReaders<C extends Columns> = { readonly [K in keyof C]: Read<Kinds[C[K]]> };

type RowReader<C extends Columns, T> = (columns: ColumnReaders<C>) => Read<T>;

/** With more tokens than this, the whole table is read instead of naming them in a query. */
const MAX_NAMED_TOKENS = 1000;

/** Rows read between two checks of the clock. */
const ROWS_AT_ONCE = 64;

/** The rows of a table, one vector at a time, in no order. */
export async function* readRows<C extends Columns, T>(
  source: FlatSource,
  { name: table, columns }: FlatTable<C>,
  reader: RowReader<C, T>,
  where = '',
  values: readonly SqlValue[] = [],
): AsyncGenerator<T[]> {
  const texts = new Map<string, string>();
  const sharedText = (text: string): string => {
    const known = texts.get(text);
    if (known === undefined) texts.set(text, text);
    return known ?? text;
  };
  const turns = new Turns();
  const sql = `SELECT ${Object.keys(columns).join(', ')} FROM ${table} ${where}`;
  for await (const chunk of source.streamChunks(sql, values)) {
    const readers = Object.entries(columns).map(([name, kind], i) => {
      const value = chunk.reader(i);
      return [name, kind === 'shared' ? (row: number) => sharedText(value(row) as string) : value];
    });
    const read = reader(Object.fromEntries(readers) as ColumnReaders<C>);
    const rows: T[] = [];
    for (let row = 0; row < chunk.rowCount; row++) {
      rows.push(read(row));
      if (row % ROWS_AT_ONCE === 0) await turns.take();
    }
    yield rows;
  }
}

/** The rows of these tokens, of a table with a token column. */
export async function readRowsOf<C extends Columns, T extends { tokenAddress: string }>(
  source: FlatSource,
  table: FlatTable<C>,
  reader: RowReader<C, T>,
  tokens: readonly string[],
): Promise<T[]> {
  const wanted = new Set(tokens);
  if (wanted.size === 0) return [];
  const named = wanted.size <= MAX_NAMED_TOKENS ? [...wanted] : [];
  const where =
    named.length === 0 ? '' : `WHERE ${table.token} IN (${named.map(() => '?').join(', ')})`;
  const found: T[] = [];
  for await (const rows of readRows(source, table, reader, where, named)) {
    for (const row of rows) if (wanted.has(row.tokenAddress)) found.push(row);
  }
  return found;
}

/** Reads a query's rows into columns, for results too long for an object per row. */
export async function readColumns(
  source: FlatSource,
  sql: string,
  values: readonly SqlValue[],
  columns: readonly { add(chunk: ResultChunk, column: number): void }[],
): Promise<void> {
  const turns = new Turns();
  for await (const chunk of source.streamChunks(sql, values)) {
    for (const [i, column] of columns.entries()) {
      column.add(chunk, i);
      await turns.take();
    }
  }
}

const FIRST_CAPACITY = 2048;

/** A typed array that grows. */
export class NumberColumn<A extends Uint32Array | Float64Array> {
  private length = 0;

  private constructor(private array: A) {}

  static uints = (): NumberColumn<Uint32Array> => new NumberColumn(new Uint32Array(FIRST_CAPACITY));
  static doubles = (): NumberColumn<Float64Array> =>
    new NumberColumn(new Float64Array(FIRST_CAPACITY));

  /** The values so far, without copying. */
  get values(): A {
    return this.array.subarray(0, this.length) as A;
  }

  /** Adds a column without nulls. */
  add(chunk: ResultChunk, column: number): void {
    this.addEach(chunk.rowCount, chunk.reader(column) as Read<number>);
  }

  addEach(rows: number, value: Read<number>): void {
    const length = this.length + rows;
    if (length > this.array.length) {
      this.array = widened(this.array, Math.max(this.array.length * 2, length));
    }
    for (let row = 0; row < rows; row++) this.array[this.length++] = value(row);
  }
}

/** Texts as indexes into the list of distinct texts. */
export class CodedTexts {
  readonly codes = NumberColumn.uints();
  private readonly coder = new TextCoder();

  get texts(): string[] {
    return this.coder.values as string[];
  }

  add(chunk: ResultChunk, column: number): void {
    const text = chunk.reader(column);
    this.codes.addEach(chunk.rowCount, (row) => this.coder.code(text(row)));
  }
}
