/**
 * Builders of JSON schemas whose values have static types. The types are those of TypeBox; its own builders are more
 * than 500 modules, which every start would load.
 */
import type Typebox from 'typebox';
import type { TProperties, TSchema, TSchemaOptions } from 'typebox';

export type { Static, TObject, TProperties, TSchema, TSchemaOptions } from 'typebox';

/** Properties that an object may lack. */
const optional = new WeakSet<TSchema>();

export function isOptional(schema: TSchema): boolean {
  return optional.has(schema);
}

const ofType = (type: string) => (options?: TSchemaOptions) => ({ type, ...options });

const builders = {
  String: ofType('string'),
  Number: ofType('number'),
  Integer: ofType('integer'),
  Boolean: ofType('boolean'),
  Null: ofType('null'),
  Literal: (value: unknown, options?: TSchemaOptions) => ({
    type: typeof value,
    const: value,
    ...options,
  }),
  Enum: (words: readonly unknown[], options?: TSchemaOptions) => ({ enum: words, ...options }),
  Array: (items: TSchema, options?: TSchemaOptions) => ({ type: 'array', items, ...options }),
  Union: (anyOf: readonly TSchema[], options?: TSchemaOptions) => ({ anyOf, ...options }),
  Object(properties: TProperties, options?: TSchemaOptions) {
    const required = Object.keys(properties).filter((name) => !isOptional(properties[name]));
    return {
      type: 'object',
      ...(required.length > 0 ? { required } : {}),
      properties,
      ...options,
    };
  },
  Optional(schema: TSchema) {
    const copy = { ...schema };
    optional.add(copy);
    return copy;
  },
  Unsafe: (schema: TSchema) => schema,
};

// eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion
const Type = builders as unknown as Pick<typeof Typebox, keyof typeof builders>;
export default Type;
