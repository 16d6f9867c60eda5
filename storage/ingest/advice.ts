/** Adds to the faults of a refused file the flags with which the command would accept it. */
import { FaultLog, isFields } from '../../compute/ingest/fields.js';
import { FaultyFileError } from '../errors.js';
import { Instant } from './columns.js';
import type { WantedColumn } from './fields.js';
import { missingKey } from './hints.js';
import { type Mapping, NO_MAPPING } from './mapping.js';
import { type RowSource, rowBatches } from './rows.js';
import { isNumberText, numberOfText, wordFor } from './texts.js';
import { LongNumber, looksLikeIso, UNIT_NAMES, unitOfNumber } from './time-units.js';

const COERCE = 'numbers as text: add --coerce';
/** Fields whose numbers are texts. */
const DECIMAL_STRINGS = /\.(ticks|sqrt_price_x96)\b/;
/** Characters of a wrong value that a message shows. */
const MAX_SHOWN_CHARS = 40;

/**
 * The error, with hints for faults whose value suggests a flag. Reads the file again, up to the last fault.
 */
export async function withAdvice(
  error: FaultyFileError,
  source: RowSource,
  wanted: readonly WantedColumn[],
): Promise<FaultyFileError> {
  const start = `${source.file}:`;
  const faults = error.faults.map((text) => {
    const match = text.startsWith(start)
      ? /^(\d+): ([^:]+): /.exec(text.slice(start.length))
      : null;
    return { text, line: Number(match?.[1] ?? 0), field: match?.[2] ?? '' };
  });
  const rows = await rowsAt(
    source,
    wanted,
    faults.map(({ line }) => line),
  ).catch(() => null);
  if (rows === null) return error;
  const advised = faults.map(({ text, line, field }) => {
    const hint = text.includes(': add --')
      ? null
      : hintFor(text, field, rows.get(line), wanted, source);
    return hint === null ? text : `${text}: ${hint}`;
  });
  return new FaultyFileError(source.file, advised, error.faultCount);
}

/** The rows in some lines of the file. */
async function rowsAt(
  source: RowSource,
  wanted: readonly WantedColumn[],
  lines: readonly number[],
): Promise<Map<number, unknown>> {
  const open = new Set(lines.filter((line) => line > 0));
  const rows = new Map<number, unknown>();
  const columns = source.mapping?.columns ?? NO_MAPPING.columns;
  const any = wanted.map(({ name, time }): WantedColumn => ({
    name: columns.get(name) ?? name,
    kind: 'any',
    required: false,
    ...(time === undefined ? {} : { time: 'instant' }),
  }));
  const unmapped = { ...source, mapping: null, only: new Set(open) };
  for await (const batch of rowBatches(unmapped, any, new FaultLog())) {
    for (const { line, row } of batch) if (open.delete(line)) rows.set(line, row);
    if (open.size === 0) break;
  }
  return rows;
}

function hintFor(
  fault: string,
  field: string,
  row: unknown,
  wanted: readonly WantedColumn[],
  { format, mapping }: RowSource,
): string | null {
  const [root] = field.split(/[.[]/);
  const { columns, constants, timeUnit, coerce, decimal, tokenColumn } = mapping ?? NO_MAPPING;
  // Faults of a file with a schema use the file's column names.
  const column = wanted.find(({ name }) => name === root || columns.get(name) === root);
  // No other flag can help where --set gives the value.
  if (column === undefined || constants.has(column.name) || !isFields(row)) return null;
  const value = row[columns.get(column.name) ?? root];
  const isText = !coerce && format !== 'csv';
  if (value === undefined) {
    // The symbols' tokens say which chain they are on.
    if (columns.has(root) || (tokenColumn !== null && root === 'chain')) return null;
    const names = wanted.map(({ name }) => name);
    return column.required ? missingKey(column, Object.keys(row), names) : null;
  }
  if (value === null || value === '')
    return format === 'csv' ? 'it is empty' : `it is ${JSON.stringify(value)}`;
  if (column.time !== undefined) {
    if (value instanceof Instant) return null;
    const hints = [isText && isNumberText(value) ? COERCE : null, timeHint(value, timeUnit)];
    return (
      hints.filter((hint) => hint !== null).join('; ') ||
      (isNumberText(value) ? null : shown(value))
    );
  }
  if (column.kind === 'text') return column.values ? wordHint(value, column.values, coerce) : null;
  const found = root === field ? value : valueAt(row, field);
  if (isText && holdsNumberText(found) && !DECIMAL_STRINGS.test(field)) return COERCE;
  if (column.kind !== 'number') return null;
  // Faults of several rows name none of their numbers.
  const isOfValue = fault.includes(': must be a number');
  if (typeof found === 'number') return isOfValue ? `it is ${found}` : null;
  if (typeof found !== 'string') return null;
  if (decimal === null && isNumberText(found)) {
    if (!isOfValue) return null;
    return found === found.trim() ? `it is ${cut(found)}` : shown(found);
  }
  return (decimal === null ? decimalHint(found) : null) ?? shown(found);
}

/** For a number with a decimal comma or separated thousands. */
function decimalHint(text: string): string | null {
  const [point, comma] = [numberOfText(text, '.'), numberOfText(text, ',')];
  if (point === null && comma === null) return null;
  if (point === null) return "a decimal comma: add --decimal ','";
  if (comma === null) return 'separated thousands: add --decimal .';
  return `add --decimal ',' if ${text.trim()} is ${comma}, or --decimal . if it is ${point}`;
}

/** For a word that means one of the field's values. */
function wordHint(value: unknown, values: readonly string[], coerce: boolean): string | null {
  if (typeof value !== 'string' || values.includes(value)) return null;
  const word = coerce ? null : wordFor(value, values);
  return word === null ? shown(value) : `${JSON.stringify(value)} for ${word}: add --coerce`;
}

/** Quotes a wrong text. */
function shown(value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return null;
  return `it is ${JSON.stringify(cut(value))}`;
}

const cut = (text: string): string =>
  text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}...` : text;

/** The unit that a time seems to have. No unit makes a time of a negative number, and `auto` knows them all. */
function timeHint(value: unknown, given: Mapping['timeUnit']): string | null {
  if (given === 'auto') return null;
  if (typeof value === 'string' && looksLikeIso(value)) {
    return given === 'iso' ? null : 'looks like ISO: add --time-unit iso';
  }
  const number = value instanceof LongNumber ? value.text : value;
  if (typeof number !== 'number' && !isNumberText(number)) return null;
  const epoch = Number(number);
  if (epoch < 0) return null;
  const unit = unitOfNumber(epoch);
  if (given === null && unit === 's' && !Number.isInteger(epoch)) {
    return 'a fraction of a second: add --time-unit auto';
  }
  return unit === (given ?? 's') ? null : `looks like ${UNIT_NAMES[unit]}: add --time-unit ${unit}`;
}

/** Whether a value is a text of a number, or a list that contains one. */
function holdsNumberText(value: unknown): boolean {
  return Array.isArray(value) ? value.some(isNumberText) : isNumberText(value);
}

/** The value at a path such as `markets[2].book.bids[14]`. */
function valueAt(row: unknown, path: string): unknown {
  let value = row;
  for (const [, name, index] of path.matchAll(/([^.[\]]+)|\[(\d+)\]/g)) {
    const key = name ?? index;
    value = (value as Record<string, unknown> | null | undefined)?.[key];
  }
  return value;
}
