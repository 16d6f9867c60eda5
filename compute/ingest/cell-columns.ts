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
/** Rows. */
const FIRST_CAPACITY = 1024;

/** Makes columns of rows, one at a time. */
export class CellColumnBuilder {
  private rows = 0;
  /** In the order of CELL_NUMBERS. */
  private numbers: Float64Array[];
  private readonly starts: number[] = [];
  private readonly texts = CELL_TEXTS.map((name) => ({
    name,
    coder: new TextCoder(),
    codes: [] as number[],
  }));
  private previous: Fields | null = null;

  /** @param capacity expected number of rows */
  constructor(private capacity: number) {
    this.numbers = CELL_NUMBERS.map(() => new Float64Array(capacity));
  }

  add(row: Fields): void {
    const { previous, texts } = this;
    if (previous === null || !hasSameTexts(row, previous)) {
      this.starts.push(this.rows);
      for (const { name, coder, codes } of texts) codes.push(coder.code(row[name]));
    }
    this.previous = row;
    const at = this.next();
    CELL_NUMBERS.forEach((name, i) => {
      const value = row[name];
      this.numbers[i][at] = typeof value === 'number' ? value : NaN;
    });
  }

  /** Adds a row with the texts of the last one. @param numbers in the order of CELL_NUMBERS */
  addNumbers(numbers: Float64Array): void {
    const at = this.next();
    for (let i = 0; i < numbers.length; i++) this.numbers[i][at] = numbers[i];
  }

  finish(): CellColumns {
    const { starts, texts } = this;
    return {
      ...cellNumbers((name) => this.numbers[CELL_NUMBERS.indexOf(name)].subarray(0, this.rows)),
      starts: Uint32Array.from(starts),
      texts: cellTexts((_, i) => ({
        codes: Uint32Array.from(texts[i].codes),
        values: texts[i].coder.values,
      })),
    };
  }

  private next(): number {
    if (this.rows === this.capacity) {
      this.capacity = Math.max(FIRST_CAPACITY, this.capacity * 2);
      this.numbers = this.numbers.map((column) => {
        const grown = new Float64Array(this.capacity);
        grown.set(column);
        return grown;
      });
    }
    return this.rows++;
  }
}

/** Columns of parsed rows; values that are not objects have no fields. */
export function cellColumnsOfRows(given: readonly unknown[]): CellColumns {
  const columns = new CellColumnBuilder(given.length);
  for (const row of given) columns.add(isFields(row) ? row : NO_FIELDS);
  return columns.finish();
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
