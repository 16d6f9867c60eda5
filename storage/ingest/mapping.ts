/** Flags that describe files whose columns differ from a dataset's, and the conversion of their rows. */
import { canonicalAddress } from '../../compute/market.js';
import { type FaultLog, isFields } from '../../compute/ingest/fields.js';
import { Instant, type NumberedRow } from './columns.js';
import type { FileFormat } from './datasets.js';
import type { WantedColumn } from './fields.js';
import type { SymbolAddresses } from './symbol-addresses.js';
import { type DecimalMark, isNumberText, numberOfText, wordFor } from './texts.js';
import { timeIn, type TimeUnit } from './time-units.js';

export interface Mapping {
  /** For some fields, the column from which each is read. */
  columns: ReadonlyMap<string, string>;
  /** Values of fields that are constant over all rows. */
  constants: ReadonlyMap<string, string | number | boolean>;
  /** Null: times are whole epoch seconds. */
  timeUnit: TimeUnit | null;
  /** Whether to read numbers from texts, and a field's values from other words for them. */
  coerce: boolean;
  /** The decimal mark of such numbers, whose thousands may be separated; null: a point, without separators. */
  decimal: DecimalMark | null;
  /** The column of symbols by which addresses are found; null if there is none. */
  tokenColumn: string | null;
}

export const NO_MAPPING: Mapping = {
  columns: new Map(),
  constants: new Map(),
  timeUnit: null,
  coerce: false,
  decimal: null,
  tokenColumn: null,
};

/** The name under which a mapped row has the fraction of a second of its time. Only levels read it. */
export const FRACTION = 'fraction_s';

/** Fields of nested rows that are texts even if they look like numbers. */
const NESTED_TEXTS: readonly string[] = [
  'source',
  'exchange_type',
  'type',
  'address',
  'pair',
  'sqrt_price_x96',
  'liquidity_net',
];

/** The field with a token's address among those of a dataset; null if there is none or several. */
export function addressField(wanted: readonly WantedColumn[]): string | null {
  const names = wanted.map(({ name }) => name);
  // Symbols are looked up in the rows of `tokens`, so those rows must give addresses.
  if (names.includes('symbol')) return null;
  return names.find((name) => name === 'address' || name === 'token_address') ?? null;
}

/** The flags that give the token of all rows, with placeholders. */
export function addressFlags(wanted: readonly WantedColumn[]): string {
  const chain = wanted.some(({ name }) => name === 'chain') ? '--set chain=CHAIN ' : '';
  return `${chain}--set ${addressField(wanted)}=ADDRESS in place of --token-column`;
}

/** The columns to read from a file for the wanted fields. */
export function mappedColumns(
  wanted: readonly WantedColumn[],
  mapping: Mapping,
): readonly WantedColumn[] {
  const { columns, constants, tokenColumn, timeUnit, coerce } = mapping;
  const byName = new Map<string, WantedColumn>();
  const token = tokenColumn === null ? null : addressField(wanted);
  for (const { name: field, kind, required, time, values } of wanted) {
    if (constants.has(field) || field === token) continue;
    const name = columns.get(field) ?? field;
    const flag = columns.has(field) ? { flag: `--column ${field}=${name}` } : {};
    // The symbol's token determines the chain.
    const isNeeded = columns.has(field) || (required && !(token !== null && field === 'chain'));
    const isFree = (time !== undefined && timeUnit !== null) || (coerce && kind === 'number');
    const known = byName.get(name);
    byName.set(name, {
      name,
      kind: isFree || known !== undefined ? freely(kind, known) : kind,
      required: isNeeded || known?.required === true,
      ...(time === undefined ? {} : { time: 'instant' }),
      ...(values === undefined ? {} : { values }),
      ...flag,
    });
  }
  if (tokenColumn !== null && !byName.has(tokenColumn)) {
    const flag = `--token-column ${tokenColumn}`;
    byName.set(tokenColumn, { name: tokenColumn, kind: 'scalar', required: true, flag });
  }
  return [...byName.values()];
}

/** The kind of a column whose values are checked one by one. */
const freely = (kind: WantedColumn['kind'], known?: WantedColumn): WantedColumn['kind'] =>
  kind === 'any' || known?.kind === 'any' ? 'any' : 'scalar';

/** Makes rows of a dataset from a file's rows. */
export class RowMapper {
  private readonly readsTexts: boolean;
  /** The field whose addresses are found by symbols; null if there is none. */
  private readonly token: { field: string; symbols: SymbolAddresses } | null;
  /** Columns named by --column that no row has had so far. */
  readonly unseen: Set<string>;
  /** The times, if nothing else of a row changes: it then stays the same object. Null if more does. */
  private readonly onlyTimes: readonly string[] | null;

  constructor(
    private readonly wanted: readonly WantedColumn[],
    private readonly mapping: Mapping,
    format: FileFormat,
    symbols: SymbolAddresses | null,
    private readonly faults: FaultLog,
  ) {
    // All fields of a CSV file are texts.
    this.readsTexts = mapping.coerce || format === 'csv';
    const field = addressField(wanted);
    this.token = symbols === null || field === null ? null : { field, symbols };
    this.unseen = new Set([...mapping.columns.values()]);
    const { columns, constants, coerce, tokenColumn } = mapping;
    const changesMore = columns.size > 0 || constants.size > 0 || coerce || tokenColumn !== null;
    const times = wanted.filter(({ time }) => time !== undefined).map(({ name }) => name);
    this.onlyTimes = changesMore ? null : times;
    if (mapping.tokenColumn !== null) this.unseen.add(mapping.tokenColumn);
  }

  /** The rows of a batch. A faulty row is left out and its fault added. */
  async map(batch: readonly NumberedRow[]): Promise<NumberedRow[]> {
    await this.token?.symbols.learn(batch);
    const rows: NumberedRow[] = [];
    for (const { line, row } of batch) {
      if (!isFields(row)) {
        // A fault for the reader of rows.
        rows.push({ line, row });
        continue;
      }
      const mapped = this.mapped(row, line);
      if (mapped !== null) rows.push({ line, row: mapped });
    }
    return rows;
  }

  /** The row, or null and its faults. */
  private mapped(given: Record<string, unknown>, line: number): object | null {
    const before = this.faults.count;
    this.faults.line = line;
    if (this.onlyTimes === null) {
      const row = this.mapRow(given);
      return this.faults.count === before ? row : null;
    }
    // A field of the file may have this name.
    if (given[FRACTION] !== undefined) given[FRACTION] = 0;
    for (const name of this.onlyTimes) this.setTime(given, name, given[name]);
    return this.faults.count === before ? given : null;
  }

  private mapRow(given: Readonly<Record<string, unknown>>): object {
    const { columns, constants } = this.mapping;
    const row: Record<string, unknown> = {};
    for (const name of this.unseen) if (given[name] !== undefined) this.unseen.delete(name);
    for (const column of this.wanted) {
      const { name, time } = column;
      const constant = constants.get(name);
      if (constant !== undefined) {
        row[name] = constant;
        continue;
      }
      const value = given[columns.get(name) ?? name];
      if (time !== undefined) this.setTime(row, name, value);
      else row[name] = this.mapping.coerce ? coerced(column, value, this.mapping.decimal) : value;
    }
    this.setToken(row, given);
    return row;
  }

  private setTime(row: Record<string, unknown>, name: string, value: unknown): void {
    const { timeUnit } = this.mapping;
    row[name] = value;
    if (value === null || value === undefined || value === '') {
      row[name] = null;
    } else if (value instanceof Instant) {
      row[name] = value.t;
      row[FRACTION] = value.fraction;
    } else if (timeUnit === null) {
      if (this.readsTexts && isNumberText(value)) row[name] = Number(value);
    } else if (isNumberText(value) && !this.readsTexts) {
      this.faults.add(name, 'must be a number: numbers as text: add --coerce');
    } else {
      const time = timeIn(timeUnit, value);
      if (typeof time === 'string') this.faults.add(name, time);
      else {
        row[name] = time.t;
        row[FRACTION] = time.fraction;
      }
    }
  }

  private setToken(row: Record<string, unknown>, given: Readonly<Record<string, unknown>>): void {
    if (this.token === null) return;
    const { field, symbols } = this.token;
    const chain = typeof row.chain === 'string' ? row.chain : null;
    const found = symbols.find(given[symbols.column], chain);
    if (typeof found === 'string') {
      this.faults.add(symbols.column, found);
      return;
    }
    row[field] = canonicalAddress(found.address);
    if (this.wanted.some(({ name }) => name === 'chain')) row.chain = found.chain;
  }
}

/** A value whose texts are replaced by the numbers or words that they mean; an empty number becomes null. */
function coerced(
  { name, kind, values }: WantedColumn,
  value: unknown,
  decimal: DecimalMark | null,
): unknown {
  if (kind === 'number') return value === '' ? null : numberOf(value, decimal);
  if (values !== undefined && typeof value === 'string') return wordFor(value, values) ?? value;
  return kind === 'any' && typeof value === 'object' ? nested(name, value, decimal) : value;
}

function numberOf(value: unknown, decimal: DecimalMark | null): unknown {
  if (typeof value !== 'string') return value;
  if (decimal !== null) return numberOfText(value, decimal) ?? value;
  return isNumberText(value) ? Number(value) : value;
}

function nested(name: string, value: unknown, decimal: DecimalMark | null): unknown {
  if (Array.isArray(value)) {
    // The second value of a tick is a decimal string.
    if (name === 'tick') {
      return value.map((entry: unknown, i) => (i === 0 ? numberOf(entry, decimal) : entry));
    }
    return value.map((entry) => nested(name === 'ticks' ? 'tick' : name, entry, decimal));
  }
  if (isFields(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, nested(key, inner, decimal)]),
    );
  }
  return NESTED_TEXTS.includes(name) ? value : numberOf(value, decimal);
}
