/** Validates rows of flat datasets against a list of fields. */
import type { FaultLog } from '../../compute/binning/faults.js';
import { numberOfText } from './csv-fields.js';

/** What a field of a flat dataset holds. */
export interface FlatField {
  name: string;
  kind: 'text' | 'number' | 'integer';
  /** May be null or left out; the value then is `absent`. */
  nullable: boolean;
  absent?: string | number | null;
  /** Values that a text may have. */
  oneOf?: readonly string[];
  /** Bounds of a number, both included. */
  min?: number;
  max?: number;
  /** Longest text, in characters. */
  maxLength?: number;
}

export type FlatValue = string | number | null;
export type FlatRow = Record<string, FlatValue>;

/** Characters of a text that names no bound of its own. */
export const MAX_TEXT_LENGTH = 200;

/** The row's known fields, or null with its faults added to `faults`. */
export function readFlatRow(
  fields: readonly FlatField[],
  row: unknown,
  faults: FaultLog,
): FlatRow | null {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) {
    faults.add('json', 'must be an object');
    return null;
  }
  const before = faults.count;
  const values: FlatRow = {};
  for (const field of fields) {
    const given = (row as Record<string, unknown>)[field.name];
    const value =
      given === undefined || given === null ? absentValue(field) : checked(field, given);
    if (value === undefined) faults.add(field.name, `must be ${expectation(field)}`);
    else values[field.name] = value;
  }
  return faults.count === before ? values : null;
}

/** A CSV record's text as the value that JSON would have had: empty is null, digits a number. */
export function valueOfText(field: FlatField, text: string): unknown {
  if (text === '') return null;
  if (field.kind === 'text') return text;
  const value = numberOfText(text);
  return Number.isNaN(value) ? text : value;
}

function absentValue(field: FlatField): FlatValue | undefined {
  return field.nullable ? (field.absent ?? null) : undefined;
}

function checked(field: FlatField, value: unknown): FlatValue | undefined {
  if (field.kind === 'text') {
    if (typeof value !== 'string' || value.length > (field.maxLength ?? MAX_TEXT_LENGTH)) return;
    return field.oneOf === undefined || field.oneOf.includes(value) ? value : undefined;
  }
  if (typeof value !== 'number' || !Number.isFinite(value)) return;
  if (field.kind === 'integer' && !Number.isSafeInteger(value)) return;
  const within = value >= (field.min ?? -Infinity) && value <= (field.max ?? Infinity);
  return within ? value : undefined;
}

function expectation(field: FlatField): string {
  const orNull = field.nullable ? ' or null' : '';
  if (field.oneOf !== undefined) return `one of ${field.oneOf.join(', ')}${orNull}`;
  if (field.kind === 'text') {
    return `a text of at most ${field.maxLength ?? MAX_TEXT_LENGTH} characters${orNull}`;
  }
  const what = field.kind === 'integer' ? 'an integer' : 'a number';
  if (field.min !== undefined && field.max !== undefined) {
    return `${what} from ${field.min} to ${field.max}${orNull}`;
  }
  return field.min === undefined ? `${what}${orNull}` : `${what} >= ${field.min}${orNull}`;
}
