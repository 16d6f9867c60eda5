/** Parses query strings, and reads parameters by their schemas. */
import { isOptional, type Static, type TObject, type TSchema } from './type.js';
import { closeMatch } from '../../compute/nearest.js';
import { InstantError, parseTime } from '../../compute/time.js';
import { excerpt, invalidParameter } from './errors.js';

/** Maximum number of `name=value` pairs in a request; no endpoint has nearly as many parameters. */
const MAX_PAIRS = 256;

/** Shared by the many requests without a query. */
const NONE = new Map<string, string | number>();

/** The parameters of one request, decoded when they are read. */
export class QueryParameters {
  /** Raw values by decoded name; for a repeated parameter, how often it was sent. */
  private readonly raw: Map<string, string | number>;

  /**
   * @param query the query string without its question mark
   * @throws ApiError 400 if a name's percent-encoding is malformed, or there are too many pairs
   */
  constructor(query: string) {
    this.raw = query === '' ? NONE : new Map<string, string | number>();
    let pairs = 0;
    for (let start = 0; start < query.length;) {
      let end = query.indexOf('&', start);
      if (end < 0) end = query.length;
      if (end > start) {
        if (++pairs > MAX_PAIRS) throw tooManyPairs();
        this.take(query, start, end);
      }
      start = end + 1;
    }
  }

  private take(query: string, start: number, end: number): void {
    const equals = query.indexOf('=', start);
    const nameEnd = equals < 0 || equals > end ? end : equals;
    const rawName = query.slice(start, nameEnd);
    const name = decode(rawName);
    if (name === null) throw malformed(rawName);
    const before = this.raw.get(name);
    if (before !== undefined) this.raw.set(name, typeof before === 'number' ? before + 1 : 2);
    else this.raw.set(name, nameEnd === end ? '' : query.slice(nameEnd + 1, end));
  }

  get isEmpty(): boolean {
    return this.raw.size === 0;
  }

  /**
   * @param holder what has the `known` parameters, for the error
   * @throws ApiError 400 if there is a parameter that is not `known`
   */
  allowOnly(known: ReadonlySet<string>, holder: string): void {
    for (const name of this.raw.keys()) {
      if (!known.has(name)) throw unknownParameter(name, known, holder);
    }
  }

  /**
   * A parameter's text, possibly empty; null if it was not sent.
   * @param expected begins the error for a repeated parameter
   * @throws ApiError 400 if it was sent more than once or with malformed encoding
   */
  getText(name: string, expected = 'expected once'): string | null {
    const raw = this.raw.get(name);
    if (raw === undefined) return null;
    if (typeof raw === 'number') {
      throw invalidParameter(name, `${expected}, was sent ${raw} times`);
    }
    const value = decode(raw);
    if (value === null) throw malformed(name);
    return value;
  }

  /**
   * A parameter's non-empty text; null if it was not sent.
   * @throws ApiError 400 if it was sent empty, more than once or with malformed encoding
   */
  get(name: string, expected?: string): string | null {
    const value = this.getText(name, expected);
    if (value === '') throw invalidParameter(name, 'expected a value, was sent empty');
    return value;
  }
}

function tooManyPairs() {
  return invalidParameter('query', `expected at most ${MAX_PAIRS} parameters`);
}

function unknownParameter(name: string, known: ReadonlySet<string>, holder: string) {
  return invalidParameter(excerpt(name), knownNamesHint(name, [...known], holder));
}

function knownNamesHint(name: string, known: readonly string[], holder: string): string {
  if (known.length === 0) return `${holder} has no query parameters`;
  const near = closeMatch(name, known);
  const has = near === null ? `it has ${known.join(', ')}` : `did you mean ${near}?`;
  return `${holder} has no such parameter; ${has}`;
}

function malformed(name: string) {
  return invalidParameter(excerpt(name), 'expected UTF-8 in well-formed percent-encoding');
}

/** Form decoding (a plus is a space); null if the percent-encoding is malformed. */
function decode(text: string): string | null {
  if (!text.includes('%') && !text.includes('+')) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

/** Reads a parameter's value from its non-empty text. @throws ApiError 400 */
type ValueReader = (text: string) => unknown;

interface CompiledParameter {
  name: string;
  read: ValueReader;
  /** Begins the error for a repeated parameter. */
  once: string;
  /** The value if it was not sent; undefined if it is optional. */
  fallback: unknown;
  required: boolean;
}

/** A JSON number, also with leading zeros, or without digits on one side of the point. */
const DECIMAL = /^-?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,3})?$/;
const WHOLE = /^-?\d{1,20}$/;

/** The keywords of a parameter's schema that the readers use. */
interface ParameterSchema extends TSchema {
  type?: string;
  format?: string;
  enum?: readonly (string | number)[];
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  'x-unit'?: 'fraction' | 'percent';
  maxLength?: number;
  maxItems?: number;
  items?: ParameterSchema;
  default?: unknown;
}

export function isRequired(schema: TSchema): boolean {
  return !isOptional(schema) && (schema as ParameterSchema).default === undefined;
}

/**
 * Makes the function that reads an endpoint's query parameters.
 * @throws Error if no reader supports the type of a schema
 */
export function compileQuery<Q extends TObject>(schema: Q): (query: QueryParameters) => Static<Q> {
  const parameters = Object.entries(schema.properties).map(([name, property]) =>
    compileParameter(name, property),
  );
  const defaults = parameters.some(({ required }) => required)
    ? null
    : (Object.fromEntries(parameters.map(({ name, fallback }) => [name, fallback])) as Static<Q>);
  return (query) => {
    if (defaults !== null && query.isEmpty) return defaults;
    const values: Record<string, unknown> = {};
    for (const { name, read, once, fallback, required } of parameters) {
      const text = query.get(name, once);
      if (text !== null) values[name] = read(text);
      else if (required) throw invalidParameter(name, 'expected a value, was not sent');
      else values[name] = fallback;
    }
    return values as Static<Q>;
  };
}

function compileParameter(name: string, schema: ParameterSchema): CompiledParameter {
  return {
    name,
    read: readerOf(name, schema),
    once:
      schema.type === 'array' ? 'expected once, its items separated by commas' : 'expected once',
    fallback: schema.default,
    required: isRequired(schema),
  };
}

function readerOf(name: string, schema: ParameterSchema): ValueReader {
  if (schema.enum) return wordReader(name, schema.enum, 'expected');
  switch (schema.type) {
    case 'boolean':
      return wordReader(name, [true, false], 'expected');
    case 'number':
    case 'integer':
      return numberReader(name, schema);
    case 'array':
      return listReader(name, schema);
    case 'string':
      return schema.format === 'instant' ? instantReader(name) : textReader(name, schema);
    default:
      throw new Error(`${name}: no reader for parameters of this kind`);
  }
}

/** Makes a function that finds a word whatever the case of the text, or returns undefined. */
export function wordFinder<W extends string | number | boolean>(
  words: readonly W[],
): (text: string) => W | undefined {
  const values = new Map(words.map((value) => [String(value).toLowerCase(), value]));
  return (text) => values.get(text.toLowerCase());
}

function wordReader(
  name: string,
  words: readonly (string | number | boolean)[],
  expected: string,
): ValueReader {
  const find = wordFinder(words);
  const message = `${expected} ${words.join(', ')}`;
  return (text) => {
    const value = find(text);
    if (value === undefined) throw invalidParameter(name, `${message}; was '${excerpt(text)}'`);
    return value;
  };
}

function numberReader(
  name: string,
  {
    type,
    minimum = -Infinity,
    exclusiveMinimum = -Infinity,
    maximum = Infinity,
    'x-unit': unit,
  }: ParameterSchema,
): ValueReader {
  const shape = type === 'integer' ? WHOLE : DECIMAL;
  const kind = type === 'integer' ? 'a whole number' : 'a number';
  const above = exclusiveMinimum === -Infinity ? '' : ` above ${exclusiveMinimum}`;
  const range = above + rangeText(minimum, maximum);
  const expected = `expected ${unit === undefined ? kind + range : shareText(unit, range)}`;
  return (text) => {
    const value = shape.test(text) ? Number(text) : NaN;
    // Adding 0 turns -0 into 0.
    const isWithin = value >= minimum && value > exclusiveMinimum && value <= maximum;
    if (Number.isFinite(value) && isWithin) return value + 0;
    throw invalidParameter(name, `${expected}; was '${excerpt(text)}'`);
  };
}

function shareText(unit: 'fraction' | 'percent', range: string): string {
  return unit === 'fraction'
    ? `a fraction${range} (0.25 is 25%)`
    : `a percentage${range} (25 is 25%)`;
}

function rangeText(minimum: number, maximum: number): string {
  if (minimum === -Infinity) return maximum === Infinity ? '' : ` of at most ${maximum}`;
  return maximum === Infinity ? ` of at least ${minimum}` : ` from ${minimum} to ${maximum}`;
}

/** Comma-separated; a repeated item counts once. */
function listReader(name: string, { maxItems = 0, items = {} }: ParameterSchema): ValueReader {
  const read = itemReader(name, items);
  return (text) => {
    const texts = text.split(',');
    if (texts.length > maxItems) {
      throw invalidParameter(name, `expected at most ${maxItems} items, ${texts.length} were sent`);
    }
    if (texts.includes('')) throw invalidParameter(name, 'expected no empty item between commas');
    return [...new Set(texts.map(read))];
  };
}

function itemReader(name: string, items: ParameterSchema): ValueReader {
  if (items.enum) return wordReader(name, items.enum, 'expected any of');
  return items.type === 'number' ? numberReader(name, items) : textReader(name, items);
}

function textReader(name: string, { maxLength = Infinity }: ParameterSchema): ValueReader {
  return (text) => {
    if (text.length <= maxLength) return text;
    throw invalidParameter(
      name,
      `expected at most ${maxLength} characters; was '${excerpt(text)}'`,
    );
  };
}

/** Reads a RequestedTime: only the handler knows the 'now' of its request. */
function instantReader(name: string): ValueReader {
  return (text) => {
    try {
      return parseTime(text);
    } catch (error) {
      if (!(error instanceof InstantError)) throw error;
      throw invalidParameter(name, `${error.message}; was '${excerpt(text)}'`);
    }
  };
}
