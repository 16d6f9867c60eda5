/** Reads and checks fields of JSON documents and decimal numbers. */
import {
  type Fields,
  isFields,
  isStorable,
  MAX_T_S,
  STORABLE,
} from '../../compute/ingest/fields.js';
import { chainOfAddress } from '../../compute/market.js';
import { InputError } from '../errors.js';
import { timeIn } from '../ingest/time-units.js';
import { excerpt } from './refusals.js';

/** Greatest integer that stays exact with another digit. */
const MAX_MANTISSA = 900_719_925_474_098;
/** Powers of ten that doubles hold exactly. */
const POWERS = Array.from({ length: 23 }, (_, i) => Number(`1e${i}`));
const DECIMAL = /^[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?$/i;

const ZERO = 0x30;
const DOT = 0x2e;

/** Fields of a parsed document; faults name `where: field`. */
export class JsonFields {
  constructor(
    readonly where: string,
    readonly object: Fields,
    private readonly path = '',
  ) {}

  has(field: string): boolean {
    return this.object[field] !== undefined && this.object[field] !== null;
  }

  text(field: string): string {
    const value = this.object[field];
    if (typeof value !== 'string' || value === '') throw this.fault(field, 'expected a text');
    if (!isStorable(value)) throw this.fault(field, STORABLE);
    return value;
  }

  textOrNull(field: string): string | null {
    return this.has(field) && this.object[field] !== '' ? this.text(field) : null;
  }

  integer(field: string, min: number, max: number): number {
    const value = this.object[field];
    if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) {
      return value as number;
    }
    throw this.fault(field, `expected an integer from ${min} to ${max}`);
  }

  integerOrNull(field: string, min: number, max: number): number | null {
    return this.has(field) ? this.integer(field, min, max) : null;
  }

  /** Digits without a sign, at most 100. */
  digits(field: string): string {
    const value = this.object[field];
    if (typeof value === 'string' && /^[0-9]{1,100}$/.test(value)) return value;
    throw this.fault(field, 'expected an integer as a decimal string');
  }

  /** A number of at least 0, or a text of such a number. */
  amount(field: string): number {
    const value = this.object[field];
    const amount = typeof value === 'string' ? parseDecimal(value) : value;
    if (typeof amount === 'number' && amount >= 0 && amount < Infinity) return amount;
    throw this.fault(field, 'expected a number of at least 0, also as a text');
  }

  /** Whole epoch seconds of an ISO time, or of a number or digits in any unit. */
  timeS(field: string): number {
    const time = timeIn('auto', this.object[field]);
    if (typeof time === 'string') throw this.fault(field, time);
    if (time.t >= 0 && time.t <= MAX_T_S) return time.t;
    throw this.fault(field, `expected a time from 0 to ${MAX_T_S}`);
  }

  mint(field: string): string {
    const text = this.text(field);
    if (chainOfAddress(text) === 'mainchain') return text;
    throw this.fault(field, 'expected a base58 address');
  }

  list(field: string): unknown[] {
    const value = this.object[field];
    if (!Array.isArray(value)) throw this.fault(field, 'expected a list');
    return value;
  }

  child(field: string): JsonFields {
    const value = this.object[field];
    if (!isFields(value)) throw this.fault(field, 'expected an object');
    return new JsonFields(this.where, value, `${this.path}${field}.`);
  }

  fault(field: string, what: string): InputError {
    return new InputError(`${this.where}: ${this.path}${field}: ${what}`);
  }
}

/** Parses one JSON object. @throws InputError `where: what` if the text is not one */
export function parseJsonObject(text: string, where: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  if (isFields(value)) return value;
  throw new InputError(
    `${where}: the line: expected one whole JSON object, found '${excerpt(text)}'`,
  );
}

/**
 * The unsigned decimal number in the ASCII bytes `from <= i < to`; NaN if there is none. Equal to `Number(text)`: with
 * an exact mantissa and an exact power of ten, one division rounds the same way; other numbers are left to `Number`.
 */
export function parseDecimalBytes(bytes: Uint8Array, from: number, to: number): number {
  let mantissa = 0;
  let dot = -1;
  for (let i = from; i < to; i++) {
    const digit = bytes[i] - ZERO;
    if (digit >= 0 && digit <= 9) {
      if (mantissa > MAX_MANTISSA) return parseSlowly(bytes, from, to);
      mantissa = mantissa * 10 + digit;
    } else if (bytes[i] === DOT && dot < 0 && i > from) {
      dot = i;
    } else {
      return parseSlowly(bytes, from, to);
    }
  }
  if (to === from) return NaN;
  const decimals = dot < 0 ? 0 : to - dot - 1;
  return decimals < POWERS.length ? mantissa / POWERS[decimals] : parseSlowly(bytes, from, to);
}

function parseSlowly(bytes: Uint8Array, from: number, to: number): number {
  return parseDecimal(Buffer.from(bytes.subarray(from, to)).toString('latin1'));
}

/** The unsigned decimal number in a text; NaN if the text is not one. */
export function parseDecimal(text: string): number {
  const value = DECIMAL.test(text) ? Number(text) : NaN;
  return value < Infinity ? value : NaN;
}

/** The whole number in some ASCII digits; NaN if there is none or it exceeds 2^53 - 1. */
export function parseIntegerBytes(bytes: Uint8Array, from: number, to: number): number {
  let value = 0;
  for (let i = from; i < to; i++) {
    const digit = bytes[i] - ZERO;
    if (!(digit >= 0 && digit <= 9)) return NaN;
    value = value * 10 + digit;
  }
  return from < to && value <= Number.MAX_SAFE_INTEGER ? value : NaN;
}
