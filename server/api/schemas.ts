/** Schemas that endpoints share. Each says what its values mean, and their unit. */
import Type, { type TProperties, type TSchema, type TSchemaOptions } from './type.js';
import { CHAINS } from '../../compute/market.js';
import type { RequestedTime } from '../../compute/time.js';

/** One of a fixed set of words, or of integers. */
export function word<const W extends (string | number)[]>(
  words: readonly [...W],
  options: TSchemaOptions = {},
) {
  return Type.Enum(words, {
    type: typeof words[0] === 'number' ? ('integer' as const) : ('string' as const),
    ...options,
  });
}

/** A value that can be null; the description says when. */
export function nullable<S extends TSchema>(schema: S, description?: string) {
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
}

/**
 * An object of a reply, or the body of a request, under its own name in the API's description. It is
 * open: new fields come without a new major version, so clients have to ignore fields that they do not know.
 *
 * @param name the name of the generated type; objects of the same name must be equal
 */
export function document<P extends TProperties>(
  name: string,
  properties: P,
  options: TSchemaOptions = {},
) {
  return Type.Object(properties, { title: name, ...options });
}

export const text = (description: string) => Type.String({ description });
export const number = (description: string) => Type.Number({ description });
export const usd = (description: string) => Type.Number({ description: `${description}, USD` });
export const integer = (description: string) => Type.Integer({ description });
export const count = (description: string) => Type.Integer({ minimum: 0, description });
export const epochSeconds = (description: string) =>
  Type.Integer({ description: `${description}, Unix epoch seconds` });

/** Tokens of the demo market: requests with the examples of parameters find data there. */
export const EXAMPLE_MINTS = [
  'So11111111111111111111111111111111111111112',
  'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
] as const;

const TOKEN_ADDRESS =
  'Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.';
export const tokenAddress = Type.String({ description: TOKEN_ADDRESS });
export const addressParameter = Type.String({
  description: TOKEN_ADDRESS,
  examples: [EXAMPLE_MINTS[0]],
});
export const chainKey = word(CHAINS, { description: 'Chain key.' });
export const chainFilter = word([...CHAINS, 'all'], {
  description: 'Chains listed.',
});

export const tokenSymbol = nullable(Type.String(), 'Symbol; null if unknown.');

export const tokenName = nullable(Type.String(), 'Name; null if unknown.');

export const flag = (description: string) => Type.Boolean({ default: false, description });
export const bounded = (minimum: number, maximum: number, options: TSchemaOptions) =>
  Type.Number({ minimum, maximum, ...options });
/** Query number that is a share. Its unit says whether 25% is 25 or 0.25, because its name does not. */
export const share = (
  unit: 'fraction' | 'percent',
  minimum: number,
  maximum: number,
  options: TSchemaOptions,
) => bounded(minimum, maximum, { 'x-unit': unit, ...options });
/** Query limit on the items of a list, at least 1. */
export const most = (what: string, { maximum, fallback }: { maximum: number; fallback: number }) =>
  Type.Integer({
    minimum: 1,
    maximum,
    default: fallback,
    description: `Maximum number of ${what}.`,
  });
/** Query list: comma-separated; a repeated item counts once. */
export const list = <S extends TSchema>(
  items: S,
  maxItems: number,
  description: string,
  example: readonly string[],
) => Type.Optional(Type.Array(items, { maxItems, description, examples: [example] }));
/** Query list of positive numbers of at most `maximum`. */
export const positives = (
  maxItems: number,
  description: string,
  example: readonly number[],
  maximum?: number,
) =>
  Type.Optional(
    Type.Array(
      Type.Number({ exclusiveMinimum: 0, ...(maximum === undefined ? {} : { maximum }) }),
      { maxItems, description, examples: [example] },
    ),
  );
export const instant = (description: string, example: string) =>
  Type.Optional(
    Type.Unsafe<RequestedTime>({
      type: 'string',
      format: 'instant',
      description:
        `${description} Unix epoch seconds, RFC 3339 with a zone, a date (midnight UTC), \`now\`, or a time ` +
        'before now in s, m, h, d or w.',
      examples: [example, '1794659696', '2026-11-14T12:34:56Z', '2026-11-14'],
    }),
  );

interface NamedSchemas {
  /** The description with a reference in place of each named schema. */
  value: unknown;
  /** The schemas by name, sorted. */
  schemas: Readonly<Record<string, unknown>>;
}

function reference(name: string) {
  return { $ref: `#/components/schemas/${name}` };
}

/**
 * A schema's name is its `title`.
 * @throws Error if two different schemas have one name
 */
export function takeNamedSchemas(description: unknown): NamedSchemas {
  const schemas = new Map<string, unknown>();
  const value = taken(description, schemas, new Map());
  const sorted = [...schemas].sort(([a], [b]) => (a < b ? -1 : 1));
  return { value, schemas: Object.fromEntries(sorted) };
}

/** @param done results by part: endpoints share most parts */
function taken(node: unknown, schemas: Map<string, unknown>, done: Map<object, unknown>): unknown {
  if (typeof node !== 'object' || node === null) return node;
  let part = done.get(node);
  if (part === undefined) {
    part = Array.isArray(node)
      ? node.map((item) => taken(item, schemas, done))
      : takenFields(node, schemas, done);
    done.set(node, part);
  }
  return part;
}

function takenFields(
  node: object,
  schemas: Map<string, unknown>,
  done: Map<object, unknown>,
): object {
  const inner = Object.fromEntries(
    Object.entries(node).map(([key, item]) => [key, taken(item, schemas, done)]),
  );
  const { title, ...schema } = inner;
  // A property may be called `title`: its value is a schema.
  if (typeof title !== 'string') return inner;
  const known = schemas.get(title);
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) {
    throw new Error(`two different schemas are called ${title}`);
  }
  schemas.set(title, schema);
  return reference(title);
}
