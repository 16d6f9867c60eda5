/** Cuts a file of a depth dataset into pieces that the pool's workers read and bin on their own. */
import { cellColumnsOfRows } from '../../compute/binning/cell-lines.js';
import type { CellColumns } from '../../compute/binning/cell-columns.js';
import type { DemoUnitInput } from '../../compute/demo/task.js';
import { readCsvBatches } from '../csv.js';
import { readLineChunks } from '../lines.js';
import { plainArrowValue, readArrowBatches } from './arrow-file.js';
import { ColumnCutter, cutLines } from './cut.js';
import type { FileFormat } from './datasets.js';
import { readParquet } from './parquet-file.js';

/** A piece of a file, with the number of its first line (or row). Lines are NDJSON. */
export type Piece =
  | { kind: 'snapshotLines'; firstLine: number; bytes: Uint8Array }
  | { kind: 'snapshotRows'; firstLine: number; rows: unknown[] }
  | { kind: 'cellLines'; firstLine: number; bytes: Uint8Array }
  | { kind: 'cellColumns'; firstLine: number; columns: CellColumns }
  | { kind: 'demoUnit'; firstLine: number; unit: DemoUnitInput };

/** Rows of `snapshots` that one piece holds: each may be a whole book. */
const SNAPSHOT_ROWS_A_PIECE = 64;

const SNAPSHOT_COLUMNS = ['chain', 'address', 't', 'tier', 'price_usd', 'markets'] as const;
const CELL_NUMBERS = ['t', 'price_usd', 'bin', 'support_usd', 'resistance_usd'] as const;
const CELL_TEXTS = [
  'chain',
  'address',
  'tier',
  'source',
  'exchange_type',
  'type',
  'market_address',
  'pair',
] as const;
const CELL_COLUMNS = [...CELL_TEXTS, ...CELL_NUMBERS];

/** Pieces of a file of `snapshots`, in order. */
export async function* snapshotPieces(file: string, format: FileFormat): AsyncGenerator<Piece> {
  if (format === 'ndjson') {
    for await (const { bytes, firstLine } of readLineChunks(file)) {
      yield { kind: 'snapshotLines', firstLine, bytes };
    }
    return;
  }
  let firstLine = 1;
  const rowBatches = format === 'arrow' ? arrowRows(file) : parquetRows(file, SNAPSHOT_COLUMNS);
  for await (const rows of rowBatches) {
    for (let i = 0; i < rows.length; i += SNAPSHOT_ROWS_A_PIECE) {
      const piece = rows.slice(i, i + SNAPSHOT_ROWS_A_PIECE);
      yield { kind: 'snapshotRows', firstLine, rows: piece };
      firstLine += piece.length;
    }
  }
}

/** Pieces of a file of `cells`, in order, cut where a snapshot ends. */
export async function* cellPieces(file: string, format: FileFormat): AsyncGenerator<Piece> {
  if (format === 'ndjson') {
    for await (const piece of cutLines(readLineChunks(file))) yield { kind: 'cellLines', ...piece };
    return;
  }
  const cutter = new ColumnCutter();
  for await (const columns of cellColumns(file, format)) {
    for (const piece of cutter.add(columns)) yield { kind: 'cellColumns', ...piece };
  }
  for (const piece of cutter.finish()) yield { kind: 'cellColumns', ...piece };
}

function cellColumns(file: string, format: FileFormat): AsyncGenerator<CellColumns> {
  switch (format) {
    case 'csv':
      return csvCells(file);
    case 'parquet':
      return parquetCells(file);
    case 'arrow':
      return arrowCells(file);
    case 'ndjson':
      throw new Error('lines are cut as bytes');
  }
}

async function* csvCells(file: string): AsyncGenerator<CellColumns> {
  for await (const { header, records } of readCsvBatches(file)) {
    if (records.length === 0) continue;
    const value = (name: string): ((record: { fields: string[] }) => string | null) => {
      const index = header.indexOf(name);
      return index < 0 ? () => null : ({ fields }) => (fields[index] === '' ? null : fields[index]);
    };
    yield columnsOf(
      records.length,
      (name) => records.map(value(name)),
      (name) => Float64Array.from(records.map(value(name)), numberOfText),
    );
  }
}

async function* parquetCells(file: string): AsyncGenerator<CellColumns> {
  for await (const { rowCount, columns } of readParquet(file, CELL_COLUMNS)) {
    yield columnsOf(
      rowCount,
      (name) => columns.get(name) ?? nulls(rowCount),
      (name) => Float64Array.from(columns.get(name) ?? nulls(rowCount), numberOf),
    );
  }
}

async function* arrowCells(file: string): AsyncGenerator<CellColumns> {
  for await (const batch of readArrowBatches(file)) {
    const values = (name: string): unknown[] => {
      const vector = batch.getChild(name);
      return vector === null ? nulls(batch.numRows) : Array.from(vector as Iterable<unknown>);
    };
    yield columnsOf(batch.numRows, values, (name) => Float64Array.from(values(name), numberOf));
  }
}

function columnsOf(
  rowCount: number,
  texts: (name: string) => readonly unknown[],
  numbers: (name: string) => Float64Array,
): CellColumns {
  const columns: Record<string, unknown> = {};
  for (const name of CELL_TEXTS) columns[name] = texts(name);
  for (const name of CELL_NUMBERS) columns[name] = numbers(name);
  return rowCount === 0 ? cellColumnsOfRows([]) : (columns as unknown as CellColumns);
}

/** A file's rows as objects of the named columns. */
export async function* parquetRows(
  file: string,
  names: readonly string[],
): AsyncGenerator<Record<string, unknown>[]> {
  for await (const { rowCount, columns } of readParquet(file, names)) {
    const entries = [...columns];
    yield Array.from({ length: rowCount }, (_, row) =>
      Object.fromEntries(entries.map(([name, values]) => [name, values[row]])),
    );
  }
}

/** A file's rows as objects. */
export async function* arrowRows(file: string): AsyncGenerator<unknown[]> {
  for await (const batch of readArrowBatches(file)) {
    yield Array.from(batch as Iterable<unknown>, plainArrowValue);
  }
}

const nulls = (length: number): null[] => new Array<null>(length).fill(null);

function numberOf(value: unknown): number {
  if (typeof value === 'bigint') return Number(value);
  return typeof value === 'number' ? value : NaN;
}

/** Digits as CSV has them; anything else is not a number. */
function numberOfText(text: string | null): number {
  if (text === null || text.trim() !== text || text === '') return NaN;
  return /^[+-]?[0-9.]+([eE][+-]?[0-9]+)?$/.test(text) ? Number(text) : NaN;
}
