/** Validates rows of flat datasets against a list of fields. */
import type { FaultLog } from '../../compute/ingest/faults.js';
import { numberOfText } from './csv-fields.js';

/** What a field of a flat dataset holds. */
export interface FlatField {
  name: string;
  kind: 'text' | 'number' | 'integer' | 'boolean';
  /** May be null or left out; the value then is `absent`. */
  nullable: boolean;
  absent?: FlatValue;
  /** Values that a text may have. */
  oneOf?: readonly string[];
  /** Bounds of a number, both included. */
  min?: number;
  max?: number;
  /** Bound of a number that is not included itself. */
  above?: number;
  /** What an integer has to be a multiple of. */
  multipleOf?: number;
  /** Shortest text, in characters. */
  minLength?: number;
  /** Longest text, in characters. */
  maxLength?: number;
}

export type FlatValue = string | number | boolean | null;
export type FlatRow = Record<string, FlatValue>;

/** Characters of a text that names no bound of its own. */
export const MAX_TEXT_LENGTH = 200;

/** What the database would cut a text short at, or replace. */
const UNSTORABLE = /[\0\p{Cs}]/u;
const BOOLEAN_OF_TEXT: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

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
    if (value === undefined) faults.add(field.name, `must be ${expectation(field, given)}`);
    else values[field.name] = value;
  }
  return faults.count === before ? values : null;
}

/**
 * A CSV record's text as the value that JSON would have had: empty is null, digits a number, `true`
 * and `false` in lower case a boolean.
 */
export function valueOfText(field: FlatField, text: string): unknown {
  if (text === '') return null;
  if (field.kind === 'text') return text;
  if (field.kind === 'boolean') return BOOLEAN_OF_TEXT.get(text) ?? text;
  const value = numberOfText(text);
  return Number.isNaN(value) ? text : value;
}

function absentValue(field: FlatField): FlatValue | undefined {
  return field.nullable ? (field.absent ?? null) : undefined;
}

function checked(field: FlatField, value: unknown): FlatValue | undefined {
  switch (field.kind) {
    case 'text':
      return typeof value === 'string' && isText(field, value) ? value : undefined;
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined;
    case 'number':
    case 'integer':
      return typeof value === 'number' && isNumber(field, value) ? value : undefined;
  }
}

function isText({ minLength = 0, maxLength = MAX_TEXT_LENGTH, oneOf }: FlatField, value: string) {
  if (value.length < minLength || value.length > maxLength || UNSTORABLE.test(value)) return false;
  return oneOf === undefined || oneOf.includes(value);
}

function isNumber({ kind, min, max, above, multipleOf }: FlatField, value: number): boolean {
  if (!Number.isFinite(value)) return false;
  if (kind === 'integer' && !Number.isSafeInteger(value)) return false;
  if (multipleOf !== undefined && value % multipleOf !== 0) return false;
  return value >= (min ?? -Infinity) && value <= (max ?? Infinity) && value > (above ?? -Infinity);
}

function expectation(field: FlatField, given: unknown): string {
  if (field.kind === 'text' && typeof given === 'string' && UNSTORABLE.test(given)) {
    return 'a text without NUL characters and halves of surrogate pairs';
  }
  return `${expected(field)}${field.nullable ? ' or null' : ''}`;
}

function expected(field: FlatField): string {
  const { kind, min, max, above, multipleOf, oneOf, minLength } = field;
  if (oneOf !== undefined) return `one of ${oneOf.join(', ')}`;
  if (kind === 'boolean') return 'true or false';
  if (kind === 'text') {
    const longest = field.maxLength ?? MAX_TEXT_LENGTH;
    return minLength === undefined
      ? `a text of at most ${longest} characters`
      : `a text of ${minLength} to ${longest} characters`;
  }
  const what = kind === 'integer' ? 'an integer' : 'a number';
  if (multipleOf !== undefined) return `${what} from ${min} to ${max}, a multiple of ${multipleOf}`;
  if (min !== undefined && max !== undefined) return `${what} from ${min} to ${max}`;
  if (above !== undefined) return `${what} > ${above}`;
  return min === undefined ? what : `${what} >= ${min}`;
}
