/** Reading fields of untrusted rows: a value of the right kind, or a fault that names the field. */
import type { FaultLog } from './faults.js';
import { MAX_DECIMALS, MAX_LEVELS_PER_LIST } from './limits.js';

export type Fields = Readonly<Record<string, unknown>>;

/** Which numbers a field takes, and how that is said to people. */
export interface NumberRule {
  holds(value: number): boolean;
  expected: string;
}

export const POSITIVE: NumberRule = {
  holds: (value) => value > 0 && value < Infinity,
  expected: 'must be a number > 0',
};
export const NOT_NEGATIVE: NumberRule = {
  holds: (value) => value >= 0 && value < Infinity,
  expected: 'must be a number >= 0',
};
export const INTEGER: NumberRule = {
  holds: Number.isSafeInteger,
  expected: 'must be an integer',
};

/** Integers `min` to `max`, both included. */
export function integerWithin(min: number, max: number): NumberRule {
  return {
    holds: (value) => Number.isInteger(value) && value >= min && value <= max,
    expected: `must be an integer from ${min} to ${max}`,
  };
}

export const DECIMALS = integerWithin(0, MAX_DECIMALS);

/** Whether a value is a JSON object. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The number in `fields[name]`, or NaN and a fault. */
export function readNumber(
  fields: Fields,
  name: string,
  rule: NumberRule,
  path: string,
  faults: FaultLog,
): number {
  const value = fields[name];
  if (typeof value === 'number' && rule.holds(value)) return value;
  faults.add(`${path}.${name}`, rule.expected);
  return NaN;
}

/** The list in `fields[name]`, or null and a fault. */
export function readList(
  fields: Fields,
  name: string,
  path: string,
  faults: FaultLog,
): readonly unknown[] | null {
  const value: unknown = fields[name];
  if (Array.isArray(value) && value.length <= MAX_LEVELS_PER_LIST) return value as unknown[];
  faults.add(`${path}.${name}`, `must be a list of at most ${MAX_LEVELS_PER_LIST} entries`);
  return null;
}

/** Whether a value is a list of exactly `length` entries. */
export function isTuple(value: unknown, length: number): value is readonly unknown[] {
  return Array.isArray(value) && value.length === length;
}
