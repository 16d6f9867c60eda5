/** Checks JSON values against schemas of type.ts. */
import type { TSchema } from './type.js';
import { excerpt } from './errors.js';

/** The first part of a value that does not match its schema. */
export interface Fault {
  /** Names of fields and indexes of items, from the outside in; empty for the whole value. */
  path: readonly (string | number)[];
  /** What was expected there; null if a field is missing. */
  expected: string | null;
}

/** The path as text: `snapshots[3].t`, or `body` for the whole value. */
export function fieldOf(path: Fault['path']): string {
  const steps = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`));
  return steps.length === 0 ? 'body' : steps.join('').replace(/^\./, '');
}

/** Finds the first fault of a value; null if it matches. */
type Checker = (value: unknown) => Fault | null;

/** The keywords that are checked; others only describe the value. */
interface Constraints extends TSchema {
  type?: string;
  properties?: Readonly<Record<string, TSchema>>;
  required?: readonly string[];
  items?: TSchema;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  enum?: readonly unknown[];
  const?: unknown;
  anyOf?: readonly TSchema[];
}

/**
 * Makes the function that checks values against a schema.
 * @throws Error if no checker supports the type of the schema
 */
export function checkerOf(schema: Constraints): Checker {
  const { type, anyOf, items, properties } = schema;
  if (schema.enum !== undefined) return oneOf(schema.enum);
  if (schema.const !== undefined) return oneOf([schema.const]);
  if (anyOf !== undefined) return anyChecker(anyOf.map(checkerOf));
  if (type === 'array' && items !== undefined)
    return listChecker(checkerOf(items), schema.maxItems);
  if (type === 'object') return objectChecker(properties ?? {}, schema.required ?? []);
  const kind = TYPES[type ?? ''];
  if (kind === undefined) throw new Error(`no checker for values of this kind: ${type}`);
  const { minimum = -Infinity, maximum = Infinity } = schema;
  const range = rangeWords(minimum, maximum);
  return (value) => {
    const isOutside = (value as number) < minimum || (value as number) > maximum;
    return kind.matches(value) && !isOutside ? null : otherThan(kind.name + range, value);
  };
}

function rangeWords(minimum: number, maximum: number): string {
  if (minimum > -Infinity && maximum < Infinity) return ` from ${minimum} to ${maximum}`;
  if (maximum < Infinity) return ` of at most ${maximum}`;
  return minimum > -Infinity ? ` of at least ${minimum}` : '';
}

const TYPES: Readonly<Record<string, { name: string; matches: (value: unknown) => boolean }>> = {
  string: { name: 'a text', matches: (value) => typeof value === 'string' },
  number: { name: 'a number', matches: Number.isFinite },
  integer: { name: 'a whole number', matches: Number.isInteger },
  boolean: { name: 'true or false', matches: (value) => typeof value === 'boolean' },
  null: { name: 'null', matches: (value) => value === null },
};

function here(expected: string): Fault {
  return { path: [], expected };
}

function otherThan(wanted: string, value: unknown): Fault {
  return here(`expected ${wanted}; was ${shown(value)}`);
}

/** A JSON value for an error message. */
function shown(value: unknown): string {
  if (typeof value === 'string') return `'${excerpt(value)}'`;
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

function within(step: string | number, { path, expected }: Fault): Fault {
  return { path: [step, ...path], expected };
}

function oneOf(words: readonly unknown[]): Checker {
  const wanted = `any of ${words.join(', ')}`;
  return (value) => (words.includes(value) ? null : otherThan(wanted, value));
}

/** Reports the fault of the first alternative, because that is the schema of a nullable value. */
function anyChecker(checkers: readonly Checker[]): Checker {
  return (value) => {
    let first: Fault | null = null;
    for (const check of checkers) {
      const fault = check(value);
      if (fault === null) return null;
      first ??= fault;
    }
    return first;
  };
}

function listChecker(check: Checker, maxItems = Infinity): Checker {
  return (value) => {
    if (!Array.isArray(value)) return otherThan('a list', value);
    if (value.length > maxItems) {
      return here(`expected at most ${maxItems} items, ${value.length} were sent`);
    }
    for (let i = 0; i < value.length; i++) {
      const fault = check(value[i]);
      if (fault !== null) return within(i, fault);
    }
    return null;
  };
}

function objectChecker(
  properties: Readonly<Record<string, TSchema>>,
  required: readonly string[],
): Checker {
  const checkers = Object.entries(properties).map(
    ([name, schema]) => [name, checkerOf(schema)] as const,
  );
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return otherThan('an object', value);
    }
    const missing = required.find((name) => !Object.hasOwn(value, name));
    if (missing !== undefined) return { path: [missing], expected: null };
    for (const [name, check] of checkers) {
      if (!Object.hasOwn(value, name)) continue;
      const fault = check((value as Record<string, unknown>)[name]);
      if (fault !== null) return within(name, fault);
    }
    return null;
  };
}
