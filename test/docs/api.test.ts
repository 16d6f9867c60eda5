/** docs/api.md against the API's description: neither names what the other lacks. */
import { describe, expect, it } from 'vitest';
import { description, type Json } from '../support/conformance.js';
import { type Section, sectionsOf } from './api-sections.js';
import { anchorOf, documentNamed, tableCells } from './documents.js';

const sections = sectionsOf(documentNamed('docs/api.md'));
const operations = Object.entries<Json>(description.paths).flatMap(([path, item]) =>
  Object.entries<Json>(item).map(([method, operation]) => ({
    title: `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`,
    operation,
  })),
);

/** What every endpoint may answer: said once, in the document's first table of errors. */
const OF_EVERY_ENDPOINT = [
  'invalid_parameter',
  'key_expired',
  'not_acceptable',
  'internal_error',
  'damaged_data',
  'replay_busy',
  'archive_unavailable',
];

const schemaAt = (reference: string) =>
  description.components.schemas[reference.split('/').at(-1) ?? ''] as Json;

/** The names of a schema's fields and of those within them. */
function fieldsOf(schema: Json, seen = new Set<string>()): string[] {
  if (schema.$ref !== undefined) {
    const reference = schema.$ref as string;
    if (seen.has(reference)) return [];
    return fieldsOf(schemaAt(reference), new Set([...seen, reference]));
  }
  const parts = [schema.items, ...((schema.anyOf ?? []) as Json[])] as (Json | undefined)[];
  const properties = Object.entries((schema.properties ?? {}) as Json);
  return [
    ...properties.flatMap(([name, own]) => [name, ...fieldsOf(own as Json, seen)]),
    ...parts.flatMap((part) => (part === undefined ? [] : fieldsOf(part, seen))),
  ];
}

/** The error codes of an operation, and 403, that not every endpoint has. */
function ownErrorsOf(operation: Json): string[] {
  return Object.entries(operation.responses as Json)
    .flatMap(([status, { content }]) => {
      if (status === '403') return ['403'];
      if (Number(status) < 400 || content === undefined) return [];
      const { schema } = content['application/json'] as Json;
      return ((schema.oneOf ?? [schema]) as Json[]).map(
        ({ $ref }) =>
          (schemaAt($ref as string).properties.error_code as Json | undefined)?.const as string,
      );
    })
    .filter((code) => code !== undefined && !OF_EVERY_ENDPOINT.includes(code));
}

/** Names in backticks in the first cells of the section's table with this heading. */
function namesIn({ text }: Section, heading: string): string[] {
  const [, table = ''] = text.split(new RegExp(`^\\| ${heading} .*\\n\\| -.*\\n`, 'm'));
  const rows = table.split('\n\n')[0].split('\n');
  return rows.flatMap((row) => codeOf(row.split('|')[1] ?? ''));
}

const codeOf = (text: string) => [...text.matchAll(/`([^`\n]+)`/g)].map(([, code]) => code);

/** What a section and those that it refers to have in backticks. */
function namedIn(section: Section): Set<string> {
  const proseOf = ({ text }: Section) => text.replace(/^```[\s\S]*?^```$/gm, '');
  const own = proseOf(section);
  const others = sections.filter(({ title }) => own.includes(`(#${anchorOf(title)})`));
  return new Set([own, ...others.map(proseOf)].flatMap(codeOf));
}

describe('docs/api.md', () => {
  it('has one section for every endpoint, and none for another', () => {
    const titles = sections.map(({ title }) => title);
    expect(operations.length).toBeGreaterThan(15);
    expect(titles.toSorted()).toEqual(operations.map(({ title }) => title).toSorted());
  });

  describe.each(operations)('$title', ({ title, operation }) => {
    const section = sections.find((one) => one.title === title) ?? { title, text: '', blocks: [] };

    it('has a line that says what it answers, then a request, then its reply', () => {
      expect(section.text.trim()).toMatch(/^[A-Z][^\n]+\.\n\n```sh run\n[^`]+```\n\n```json\n/);
    });

    it('names every parameter in its table, and no other', () => {
      const body = operation.requestBody?.content['application/json'].schema as Json | undefined;
      const inBody =
        body === undefined ? [] : Object.keys(schemaAt(body.$ref as string).properties as Json);
      const parameters = (operation.parameters as Json[]).map(({ name }) => name as string);
      expect(namesIn(section, body === undefined ? 'Parameter' : 'Body field').toSorted()).toEqual(
        [...parameters, ...inBody].toSorted(),
      );
    });

    it('names every field of its reply outside the reply', () => {
      const { schema } = operation.responses[200].content['application/json'] as Json;
      const named = namedIn(section);
      const isNamed = (field: string) =>
        named.has(field) ||
        [...named].some((name) => name.endsWith('*') && field.startsWith(name.slice(0, -1)));
      const fields = [...new Set(fieldsOf(schema as Json))];
      expect(fields.filter((field) => !isNamed(field))).toEqual([]);
    });

    it('names the errors that are its own, and no other', () => {
      const line = /^Errors of its own: .*$/m.exec(section.text)?.[0] ?? '';
      const codes = (line.split('. ')[0].match(/`\w+`|\b403\b/g) ?? []).map((code) =>
        code.replaceAll('`', ''),
      );
      expect(codes.toSorted()).toEqual([...new Set(ownErrorsOf(operation))].toSorted());
    });
  });

  it('has tables that need no scrolling', () => {
    const rows = documentNamed('docs/api.md')
      .text.split('\n')
      .filter((line) => line.startsWith('|'));
    expect(rows.length).toBeGreaterThan(200);
    expect(rows.filter((row) => row.length > 160)).toEqual([]);
  });

  it('explains every error code', () => {
    const rows = documentNamed('docs/api.md')
      .text.split('\n## Errors\n')[1]
      .split('\n## ')[0]
      .split('\n')
      .filter((line) => /^\| \d/.test(line))
      .map(tableCells);
    const explained = new Set(rows.map(([, code]) => code));
    const codes = operations
      .flatMap(({ operation }) => ownErrorsOf(operation))
      .filter((code) => code !== '403');
    for (const code of [...codes, ...OF_EVERY_ENDPOINT]) expect(explained).toContain(code);
  });
});
