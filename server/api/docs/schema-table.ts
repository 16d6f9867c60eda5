/** JSON schemas as tables of fields, as the reference page shows them. */
import { escapeHtml, inlineHtml } from './html.js';

/** A schema as far as the page looks at it. */
export interface PageSchema {
  type?: string;
  format?: string;
  enum?: readonly unknown[];
  const?: unknown;
  anyOf?: readonly PageSchema[];
  items?: PageSchema;
  properties?: Readonly<Record<string, PageSchema>>;
  required?: readonly string[];
  description?: string;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  maxItems?: number;
  pattern?: string;
}

interface Row {
  name: string;
  schema: PageSchema;
  optional: boolean;
}

/** A table of an object's fields, those of objects within it below each as `outer.inner`. */
export function fieldsTable(schema: PageSchema): string {
  const rows = rowsOf(schema, '').map(
    ({ name, schema: field, optional }) =>
      `<tr><td><code>${escapeHtml(name)}</code>${optional ? ' <small>optional</small>' : ''}</td>` +
      `<td>${typeText(field)}</td><td>${inlineHtml(field.description ?? '')}</td></tr>`,
  );
  return `<table><thead><tr><th>Field</th><th>Type</th><th>Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table>`;
}

function rowsOf({ properties = {}, required = [] }: PageSchema, prefix: string): Row[] {
  return Object.entries(properties).flatMap(([key, schema]) => {
    const name = prefix + key;
    return [{ name, schema, optional: !required.includes(key) }, ...innerRows(name, schema)];
  });
}

/** The fields within a field, whichever of its types has them. */
function innerRows(name: string, schema: PageSchema): Row[] {
  if (schema.anyOf) return schema.anyOf.flatMap((choice) => innerRows(name, choice));
  return schema.type === 'array'
    ? rowsOf(schema.items ?? {}, `${name}[].`)
    : rowsOf(schema, `${name}.`);
}

/** A type with its bounds, as HTML: `integer, 1 to 50`. */
export function typeText(schema: PageSchema): string {
  const { anyOf, items, const: only } = schema;
  if (anyOf) return anyOf.map(choiceText).join(' or ');
  if (only !== undefined) return codeOf(only);
  if (schema.enum) return schema.enum.map(codeOf).join(', ');
  if (schema.type === 'array') return `list of ${typeText(items ?? {})}${boundText(schema)}`;
  if (schema.format === 'instant') return 'time';
  const format = schema.format === undefined ? '' : ` (${escapeHtml(schema.format)})`;
  return `${escapeHtml(schema.type ?? 'any')}${format}${boundText(schema)}`;
}

/** One of several types, with what is said of it alone. */
function choiceText(schema: PageSchema): string {
  const { description } = schema;
  return typeText(schema) + (description === undefined ? '' : ` (${inlineHtml(description)})`);
}

function boundText({ minimum, maximum, maxLength, maxItems }: PageSchema): string {
  if (maxItems !== undefined) return `, at most ${maxItems}`;
  if (maxLength !== undefined) return `, at most ${maxLength} characters`;
  if (minimum !== undefined && maximum !== undefined) return `, ${minimum} to ${maximum}`;
  if (minimum !== undefined) return `, ${minimum} or more`;
  return maximum === undefined ? '' : `, ${maximum} or less`;
}

export function codeOf(value: unknown): string {
  return `<code>${escapeHtml(typeof value === 'string' ? value : JSON.stringify(value))}</code>`;
}
