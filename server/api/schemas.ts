/** Schemas that endpoints share. Each one says what its values mean, in what unit. */
import Type, { type TProperties, type TSchema, type TSchemaOptions } from 'typebox';
import { CHAINS } from '../../compute/market.js';

/** One of a fixed set of words or numbers. */
export function word<const W extends (string | number)[]>(
  words: readonly [...W],
  options: TSchemaOptions = {},
) {
  return Type.Enum(words, {
    type: typeof words[0] === 'number' ? ('integer' as const) : ('string' as const),
    ...options,
  });
}

/** A value that may lack its data: the description says when. */
export function nullable<S extends TSchema>(schema: S, description?: string) {
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
}

/**
 * An object of a reply. It is open: fields are added without a new major version, and clients made from
 * an older description have to ignore them.
 */
export function document<P extends TProperties>(properties: P, options: TSchemaOptions = {}) {
  return Type.Object(properties, options);
}

export const text = (description: string) => Type.String({ description });
export const number = (description: string) => Type.Number({ description });
export const usd = (description: string) => Type.Number({ description: `${description}, USD` });
export const integer = (description: string) => Type.Integer({ description });
export const count = (description: string) => Type.Integer({ minimum: 0, description });
export const epochSeconds = (description: string) =>
  Type.Integer({ description: `${description}, Unix epoch seconds` });

export const tokenAddress = Type.String({
  description: 'Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.',
});
export const chainKey = word(CHAINS, { description: 'Chain key.' });
export const chainFilter = word([...CHAINS, 'all'], {
  description: 'The chains whose rows are listed.',
});

export const tokenSymbol = nullable(
  Type.String(),
  'Symbol; null where no list of tokens has named the token.',
);

export const tokenName = nullable(
  Type.String(),
  'Name; null where no list of tokens has named the token.',
);

/** Query flag: `true` or `false`. */
export const flag = (description: string) => Type.Boolean({ default: false, description });
/** Query number within bounds. */
export const bounded = (minimum: number, maximum: number, options: TSchemaOptions) =>
  Type.Number({ minimum, maximum, ...options });
/** Query number of items that a list has at most; a list has at least one. */
export const most = (what: string, { maximum, fallback }: { maximum: number; fallback: number }) =>
  Type.Integer({ minimum: 1, maximum, default: fallback, description: `Most ${what}.` });
/** Query list: comma-separated, each item once. */
export const list = <S extends TSchema>(items: S, maxItems: number, description: string) =>
  Type.Optional(Type.Array(items, { maxItems, description }));
/** Query time. */
export const instant = (description: string) =>
  Type.Optional(
    Type.Unsafe<number>({
      type: 'string',
      format: 'instant',
      description: `${description} Unix epoch seconds, or an RFC 3339 timestamp with a zone.`,
      examples: ['1794659696', '2026-11-14T12:34:56Z'],
    }),
  );
