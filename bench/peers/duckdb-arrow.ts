/** Converts DuckDB's vectors to an Arrow IPC stream, without a JavaScript value per number. */
// oxlint-disable-next-line no-restricted-imports
import type { DuckDBDataChunk, DuckDBVector } from '@duckdb/node-api';
import {
  type DataType,
  Field,
  Float64,
  Int16,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  Uint16,
  Uint32,
} from 'apache-arrow';
import { priceAt, type Prices } from './assembly.js';

type Numbers = Uint16Array | Int16Array | Uint32Array | Float64Array;

/** Columns of cells: t, market, bin, support_usd, resistance_usd. */
const CELL_TYPES = [new Uint32(), new Uint16(), new Int16(), new Float64(), new Float64()];
const CELL_NAMES = ['t', 'market', 'bin', 'support_usd', 'resistance_usd'];
const FIELDS = [...CELL_NAMES, 'price_usd'].map(
  (name, i) => new Field<DataType>(name, CELL_TYPES[i] ?? new Float64(), false),
);
const SCHEMA = new Schema(FIELDS);

/**
 * Chunks of cells as one record batch, with the price of each cell's snapshot. DuckDB's own writer of this format is an
 * extension that is not in its npm package; in its vectors, numbers without nulls have the same layout as in Arrow.
 */
export function arrowOfChunks(chunks: readonly DuckDBDataChunk[], prices: Prices): Uint8Array {
  const length = chunks.reduce((sum, { rowCount }) => sum + rowCount, 0);
  const columns = CELL_TYPES.map((type, c) => joined(chunks, c, new type.ArrayType(length)));
  const all = [...columns, pricesOfRows(columns[0], prices)];
  const children = FIELDS.map(({ type }, c) =>
    makeData({ type, length, nullCount: 0, data: all[c] } as never),
  );
  const rows = makeData({ type: new Struct(FIELDS), length, nullCount: 0, children });
  return tableToIPC(new Table([new RecordBatch(SCHEMA, rows)]), 'stream');
}

function joined(chunks: readonly DuckDBDataChunk[], column: number, into: Numbers): Numbers {
  let at = 0;
  for (const chunk of chunks) {
    into.set(numbersOf(chunk.getColumnVector(column)), at);
    at += chunk.rowCount;
  }
  return into;
}

/** The vector's typed array over DuckDB's memory, which is a private member. */
function numbersOf(vector: DuckDBVector): Numbers {
  const { items } = vector as unknown as { items?: unknown };
  if (ArrayBuffer.isView(items)) return items as Numbers;
  throw new Error('a vector without a typed array');
}

/** @param t of each row; the rows of a snapshot are adjacent */
function pricesOfRows(t: Numbers, prices: Prices): Float64Array {
  const priceUsd = new Float64Array(t.length);
  for (let from = 0, to = 0; from < t.length; from = to) {
    while (to < t.length && t[to] === t[from]) to++;
    priceUsd.fill(priceAt(prices, t[from]), from, to);
  }
  return priceUsd;
}
