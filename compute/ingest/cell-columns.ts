/** Rows of the dataset `cells` as columns, which every reader outputs. */
import { isFields, type Fields } from './fields.js';

/** Text columns, in the dataset's order. */
export const CELL_TEXTS = [
  'chain',
  'address',
  'tier',
  'source',
  'exchange_type',
  'type',
  'market_address',
  'pair',
] as const;
export type CellText = (typeof CELL_TEXTS)[number];

export const CELL_NUMBERS = ['t', 'price_usd', 'bin', 'support_usd', 'resistance_usd'] as const;
export type CellNumber = (typeof CELL_NUMBERS)[number];

/** One entry per row; NaN if a value is missing or not a number. */
type CellNumbers = Record<CellNumber, Float64Array>;

/** Entry `i` is `values[codes[i]]`; equal entries have equal codes. */
export interface CodedTexts {
  codes: Uint32Array;
  /** Strings, null, undefined, or whatever an untrusted row contained. */
  values: readonly unknown[];
}
export type CellTexts = Readonly<Record<CellText, CodedTexts>>;

/**
 * Rows as columns. Texts rarely change from row to row, so they have one entry per text run:
 * consecutive rows with the same texts.
 */
export interface CellColumns extends Readonly<CellNumbers> {
  /** First row of each text run, ascending from 0. */
  starts: Uint32Array;
  texts: CellTexts;
  /** The line of each row, if it differs from the row's number in the file. */
  lines?: Float64Array;
}

/** Numbers distinct values in the order of their first arrival. */
export class TextCoder {
  readonly values: unknown[] = [];
  private readonly codes = new Map<unknown, number>();
  private lastValue: unknown = NaN;
  private lastCode = -1;

  code(value: unknown): number {
    if (value === this.lastValue) return this.lastCode;
    let code = this.codes.get(value);
    if (code === undefined) {
      code = this.values.push(value) - 1;
      this.codes.set(value, code);
    }
    this.lastValue = value;
    this.lastCode = code;
    return code;
  }
}

export function cellNumbers(columnOf: (name: CellNumber) => Float64Array): CellNumbers {
  return {
    t: columnOf('t'),
    price_usd: columnOf('price_usd'),
    bin: columnOf('bin'),
    support_usd: columnOf('support_usd'),
    resistance_usd: columnOf('resistance_usd'),
  };
}

export function cellTexts(columnOf: (name: CellText, index: number) => CodedTexts): CellTexts {
  const texts = {} as Record<CellText, CodedTexts>;
  CELL_TEXTS.forEach((name, i) => (texts[name] = columnOf(name, i)));
  return texts;
}

const NO_FIELDS: Fields = {};

/** Columns of parsed rows; values that are not objects have no fields. */
export function cellColumnsOfRows(given: readonly unknown[]): CellColumns {
  const rows = given.map((row) => (isFields(row) ? row : NO_FIELDS));
  const starts = new Uint32Array(rows.length);
  let runs = 0;
  for (let row = 0; row < rows.length; row++) {
    if (row === 0 || !hasSameTexts(rows[row], rows[row - 1])) starts[runs++] = row;
  }
  const own = starts.slice(0, runs);
  return {
    ...cellNumbers((name) => {
      const column = new Float64Array(rows.length);
      for (let row = 0; row < rows.length; row++) {
        const value = rows[row][name];
        column[row] = typeof value === 'number' ? value : NaN;
      }
      return column;
    }),
    starts: own,
    texts: cellTexts((name) => {
      const coder = new TextCoder();
      return { codes: own.map((row) => coder.code(rows[row][name])), values: coder.values };
    }),
  };
}

function hasSameTexts(a: Fields, b: Fields): boolean {
  return (
    a.address === b.address &&
    a.source === b.source &&
    a.market_address === b.market_address &&
    a.pair === b.pair &&
    a.chain === b.chain &&
    a.tier === b.tier &&
    a.exchange_type === b.exchange_type &&
    a.type === b.type
  );
}
