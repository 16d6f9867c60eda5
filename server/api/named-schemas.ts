/** Takes the schemas that have a name out of a description, so that generated types have names, too. */

export interface NamedSchemas {
  /** The description with a reference in place of each named schema. */
  value: unknown;
  /** The schemas by name, sorted. */
  schemas: Readonly<Record<string, unknown>>;
}

/** The reference to a named schema. */
function reference(name: string) {
  return { $ref: `#/components/schemas/${name}` };
}

/**
 * A schema's name is its `title`.
 * @throws Error if two different schemas have one name
 */
export function takeNamedSchemas(description: unknown): NamedSchemas {
  const schemas = new Map<string, unknown>();
  const value = taken(description, schemas);
  const sorted = [...schemas].sort(([a], [b]) => (a < b ? -1 : 1));
  return { value, schemas: Object.fromEntries(sorted) };
}

function taken(node: unknown, schemas: Map<string, unknown>): unknown {
  if (Array.isArray(node)) return node.map((item) => taken(item, schemas));
  if (typeof node !== 'object' || node === null) return node;
  const inner = Object.fromEntries(
    Object.entries(node).map(([key, item]) => [key, taken(item, schemas)]),
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
