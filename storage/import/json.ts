import { InputError } from '../errors.js';

export type JsonObject = Record<string, unknown>;

/** Fields of a parsed document, read with their kind checked; faults name `where: field`. */
export class JsonFields {
  constructor(
    readonly where: string,
    readonly object: JsonObject,
    private readonly path = '',
  ) {}

  has(field: string): boolean {
    return this.object[field] !== undefined && this.object[field] !== null;
  }

  text(field: string): string {
    const value = this.object[field];
    if (typeof value !== 'string' || value === '') throw this.fault(field, 'expected a text');
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

  /** Digits without a sign, as long as they may be. */
  digits(field: string): string {
    const value = this.object[field];
    if (typeof value === 'string' && /^[0-9]{1,100}$/.test(value)) return value;
    throw this.fault(field, 'expected an integer as a decimal string');
  }

  list(field: string): unknown[] {
    const value = this.object[field];
    if (!Array.isArray(value)) throw this.fault(field, 'expected a list');
    return value;
  }

  child(field: string): JsonFields {
    const value = this.object[field];
    if (!isJsonObject(value)) throw this.fault(field, 'expected an object');
    return new JsonFields(this.where, value, `${this.path}${field}.`);
  }

  fault(field: string, what: string): InputError {
    return new InputError(`${this.where}: ${this.path}${field}: ${what}`);
  }
}

/** Parses one JSON object. Throws an InputError `where: what` where the text is none. */
export function parseJsonObject(text: string, where: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InputError(`${where}: the line: expected a JSON object`);
  }
  if (!isJsonObject(value)) throw new InputError(`${where}: the line: expected a JSON object`);
  return value;
}

function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
