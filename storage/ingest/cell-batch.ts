/**
 * Rows of dataset `cells` as a file's reader hands them on: some thousand at a time, by column. A
 * reader may use its columns' memory again for the next batch.
 */
import { CELL_TEXTS, type CellText } from '../../compute/ingest/text-runs.js';
import type { WantedColumn } from './columns.js';

export { CELL_TEXTS, type CellText };

export const CELL_NUMBERS = ['t', 'price_usd', 'bin', 'support_usd', 'resistance_usd'] as const;
export type CellNumber = (typeof CELL_NUMBERS)[number];

/** Fields that may be null or left out. */
const NULLABLE: readonly string[] = ['tier', 'type', 'market_address', 'pair'];

export const CELL_COLUMNS: readonly WantedColumn[] = [
  ...CELL_TEXTS.map((name) => ({ name, kind: 'text' as const })),
  ...CELL_NUMBERS.map((name) => ({ name, kind: 'number' as const })),
].map((column) => ({ ...column, required: !NULLABLE.includes(column.name) }));

/** A text column: run `i` holds `value(codes[i])`; equal codes are equal values. */
export interface TextCodes {
  codes: ArrayLike<number>;
  /** One more than the greatest code. */
  size: number;
  value: (code: number) => unknown;
}

export interface CellBatch {
  rows: number;
  /** Of `rows` entries; NaN where there is no number. */
  numbers: Readonly<Record<CellNumber, Float64Array>>;
  /** First row of each run of rows whose texts are all the same, ascending from 0. */
  starts: Uint32Array;
  /** With an entry a run. */
  texts: Readonly<Record<CellText, TextCodes>>;
  /** The line of each row, where that is not its number in the file. */
  lines?: Float64Array;
}

export function cellNumbers(column: (name: CellNumber) => Float64Array): CellBatch['numbers'] {
  const numbers = Object.fromEntries(CELL_NUMBERS.map((name) => [name, column(name)]));
  return numbers as CellBatch['numbers'];
}

export function cellTexts(
  column: (name: CellText, index: number) => TextCodes,
): CellBatch['texts'] {
  const texts = Object.fromEntries(CELL_TEXTS.map((name, i) => [name, column(name, i)]));
  return texts as unknown as CellBatch['texts'];
}

/** A column of nothing but nulls. */
export function nullCodes(runs: number): TextCodes {
  return { codes: new Uint8Array(runs), size: 1, value: () => null };
}

/** A column of numbers that the file does not have. */
export const missingNumbers = (rows: number): Float64Array => new Float64Array(rows).fill(NaN);
