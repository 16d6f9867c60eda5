/** Adds to the faults of a refused file the flags that would make the command take it. */
import { FaultLog, isFields } from '../../compute/ingest/fields.js';
import { FaultyFileError } from '../errors.js';
import type { WantedColumn } from './columns.js';
import { columnFor } from './hints.js';
import { isNumberText, type Mapping, NO_MAPPING } from './mapping.js';
import { type RowSource, rowBatches } from './rows.js';
import { looksLikeIso, UNIT_NAMES, unitOfNumber } from './time-units.js';

const COERCE = 'numbers as text: add --coerce';

/**
 * The error with hints at those faults whose value suggests a flag. Reads the file again, up to the last of the
 * faults.
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
    const hint = text.includes(': add --') ? null : hintFor(field, rows.get(line), wanted, source);
    return hint === null ? text : `${text}: ${hint}`;
  });
  return new FaultyFileError(source.file, advised, error.faultCount);
}

/** The rows of some lines as the file has them. */
async function rowsAt(
  source: RowSource,
  wanted: readonly WantedColumn[],
  lines: readonly number[],
): Promise<Map<number, unknown>> {
  const open = new Set(lines.filter((line) => line > 0));
  const rows = new Map<number, unknown>();
  const columns = source.mapping?.columns ?? NO_MAPPING.columns;
  const any = wanted.map(({ name }): WantedColumn => ({
    name: columns.get(name) ?? name,
    kind: 'any',
    required: false,
  }));
  const asItIs = { ...source, mapping: null };
  for await (const batch of rowBatches(asItIs, any, new FaultLog())) {
    for (const { line, row } of batch) if (open.delete(line)) rows.set(line, row);
    if (open.size === 0) break;
  }
  return rows;
}

function hintFor(
  field: string,
  row: unknown,
  wanted: readonly WantedColumn[],
  { format, mapping }: RowSource,
): string | null {
  const [root] = field.split(/[.[]/);
  const { columns, timeUnit, coerce } = mapping ?? NO_MAPPING;
  // Faults of a file with a schema name the file's columns.
  const column = wanted.find(({ name }) => name === root || columns.get(name) === root);
  if (column === undefined || !isFields(row)) return null;
  const value = row[columns.get(column.name) ?? root];
  const isText = !coerce && format !== 'csv';
  if (value === undefined) return columns.has(root) ? null : renamed(root, row, wanted);
  if (column.time !== undefined) {
    const hints = [isText && isNumberText(value) ? COERCE : null, timeHint(value, timeUnit)];
    return hints.filter((hint) => hint !== null).join('; ') || null;
  }
  const found = root === field ? value : valueAt(row, field);
  return isText && holdsNumberText(found) && column.kind !== 'text' ? COERCE : null;
}

/** The field of a JSON row under another name that no field of the dataset has. */
function renamed(
  field: string,
  row: Readonly<Record<string, unknown>>,
  wanted: readonly WantedColumn[],
): string | null {
  const others = Object.keys(row).filter((key) => !wanted.some(({ name }) => name === key));
  const guess = columnFor(field, others);
  return guess && `the row has ${JSON.stringify(guess.column)}: add ${guess.flag}`;
}

function timeHint(value: unknown, given: Mapping['timeUnit']): string | null {
  if (typeof value === 'string' && looksLikeIso(value)) {
    return given === 'iso' ? null : 'looks like ISO: add --time-unit iso';
  }
  if (typeof value !== 'number' && !isNumberText(value)) return null;
  const unit = unitOfNumber(Number(value));
  return unit === given ? null : `looks like ${UNIT_NAMES[unit]}: add --time-unit ${unit}`;
}

/** Whether a value is a text of a number, or a list with one. */
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
