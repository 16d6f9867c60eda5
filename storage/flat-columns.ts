/** Flat tables, whose rows a key tells apart, and how their columns are read from results. */
import type { FlatDataset } from './contract.js';
import type { Database } from './duckdb/database.js';
import type { ResultChunk, SqlValue } from './duckdb/statements.js';

/** Values of a column by its kind. Of `shared` texts, which many rows repeat, each is held once. */
interface Kinds {
  text: string;
  shared: string;
  number: number;
  nullable: number | null;
}

/** Columns by name, in the table's order, those of the key first. */
type Columns = Readonly<Record<string, keyof Kinds>>;

/** The table of a flat dataset. */
export interface FlatTable<C extends Columns = Columns> {
  name: FlatDataset;
  columns: C;
  /** How many columns name a row. */
  keyColumns: number;
  /** The column of the token that a row belongs to, where changes are told token by token. */
  token?: string;
  /** The key column that rises from file to file: few row groups need be searched by it. */
  rising?: string;
  /** Greatest number of rows, and the word for them in messages. */
  limit?: { rows: number; of: string };
}

/** What the readers of flat tables need of a database. */
export type FlatSource = Pick<Database, 'streamChunks'>;

/** Reads a column's value by row. */
type Read<T> = (row: number) => T;

/** Readers of a chunk's columns, by name. */
export type ColumnReaders<C extends Columns> = { readonly [K in keyof C]: Read<Kinds[C[K]]> };

/** Makes a reader of rows from the readers of their columns. */
type RowReader<C extends Columns, T> = (columns: ColumnReaders<C>) => Read<T>;

/** Tokens named in one query; for more than that, the whole table is read. */
const MAX_NAMED_TOKENS = 1000;

/** All rows of a table, a vector's worth at a time, in no order. */
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
  const sql = `SELECT ${Object.keys(columns).join(', ')} FROM ${table} ${where}`;
  for await (const chunk of source.streamChunks(sql, values)) {
    const readers = Object.entries(columns).map(([name, kind], i) => {
      const value = chunk.reader(i);
      return [name, kind === 'shared' ? (row: number) => sharedText(value(row) as string) : value];
    });
    const read = reader(Object.fromEntries(readers) as ColumnReaders<C>);
    yield Array.from({ length: chunk.rowCount }, (_, row) => read(row));
  }
}

/** The rows of tokens, of a table with a token column. */
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

/** Reads a query's rows into one column each, for results too long for an object a row. */
export async function readColumns(
  source: FlatSource,
  sql: string,
  values: readonly SqlValue[],
  columns: readonly { add(chunk: ResultChunk, column: number): void }[],
): Promise<void> {
  for await (const chunk of source.streamChunks(sql, values)) {
    columns.forEach((column, i) => column.add(chunk, i));
  }
}

const FIRST_CAPACITY = 2048;

/** Numbers in a typed array that grows. */
export class NumberColumn<A extends Uint32Array | Float64Array> {
  private array: A;
  private length = 0;

  private constructor(private readonly make: (length: number) => A) {
    this.array = make(FIRST_CAPACITY);
  }

  static uints = (): NumberColumn<Uint32Array> =>
    new NumberColumn((length) => new Uint32Array(length));
  static doubles = (): NumberColumn<Float64Array> =>
    new NumberColumn((length) => new Float64Array(length));

  /** What has been added, without copying it. */
  get values(): A {
    return this.array.subarray(0, this.length) as A;
  }

  /** Adds the values of a chunk's column, none of them null. */
  add(chunk: ResultChunk, column: number): void {
    this.addEach(chunk.rowCount, chunk.reader(column) as Read<number>);
  }

  addEach(rows: number, value: Read<number>): void {
    if (this.length + rows > this.array.length) {
      const grown = this.make(Math.max(this.array.length * 2, this.length + rows));
      grown.set(this.values);
      this.array = grown;
    }
    for (let row = 0; row < rows; row++) this.array[this.length++] = value(row);
  }
}

/** Texts as indexes into the list of different ones. */
export class CodedTexts {
  readonly texts: string[] = [];
  readonly codes = NumberColumn.uints();
  private readonly known = new Map<string, number>();

  add(chunk: ResultChunk, column: number): void {
    const text = chunk.reader(column) as Read<string>;
    this.codes.addEach(chunk.rowCount, (row) => this.codeOf(text(row)));
  }

  private codeOf(text: string): number {
    const known = this.known.get(text);
    if (known !== undefined) return known;
    this.known.set(text, this.texts.length);
    return this.texts.push(text) - 1;
  }
}
