/** The reference page for people, made from the API's description. Self-contained: no script. */
import { createHash } from 'node:crypto';
import type { ApiDescription } from '../openapi.js';
import { codeOf, fieldsTable, typeText, type PageSchema } from './schema-table.js';
import { escapeHtml, inlineHtml, proseHtml } from './html.js';
import { STYLE } from './style.js';

/** An operation as far as the page looks at it. */
interface PageOperation {
  operationId: string;
  tags: readonly string[];
  summary: string;
  description: string;
  parameters: readonly PageParameter[];
  requestBody?: { content: Record<string, { schema: PageSchema }> };
  responses: Record<
    string,
    { description: string; content?: Record<string, { schema: PageSchema }> }
  >;
}

interface PageParameter {
  name: string;
  in: string;
  required: boolean;
  deprecated?: boolean;
  description?: string;
  schema: PageSchema;
}

interface Listed {
  method: string;
  path: string;
  operation: PageOperation;
}

const JSON_TYPE = 'application/json';

/** Nothing may be loaded or run but the page's own style. */
export const DOCS_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The page's HTML. @param descriptionUrl where the description itself is served */
export function docsPage(description: ApiDescription, descriptionUrl: string): string {
  const { info, tags, servers } = description;
  const base = servers[0].url;
  const operations = listed(description);
  const groups = tags
    .map(({ name, description: text }) => ({
      name,
      text,
      operations: operations.filter(({ operation }) => operation.tags.includes(name)),
    }))
    .filter((group) => group.operations.length > 0);
  const nav = groups.map(
    ({ name, operations: own }) =>
      `<h2>${escapeHtml(name)}</h2><ul>${own.map((one) => `<li>${navLink(one)}</li>`).join('')}</ul>`,
  );
  const body = groups.map(({ operations: own }) =>
    own.map((one) => operationHtml(one, base)).join(''),
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(info.title)} API ${escapeHtml(info.version)}</title><style>${STYLE}</style></head>
<body><div class="page"><nav aria-label="Endpoints">${nav.join('')}</nav><main>
<h1>${escapeHtml(info.title)} API <small>${escapeHtml(info.version)}</small></h1>
${proseHtml(info.description)}
<p>Machine-readable: <a href="${escapeHtml(descriptionUrl)}">OpenAPI 3.1</a>.</p>
${body.join('\n')}</main></div></body></html>
`;
}

function listed({ paths }: ApiDescription): Listed[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation: operation as PageOperation,
    })),
  );
}

function navLink({ method, path, operation }: Listed): string {
  return `<a href="#${operation.operationId}">${method} ${escapeHtml(path)}</a>`;
}

function operationHtml({ method, path, operation }: Listed, base: string): string {
  const { operationId, summary, description, parameters, requestBody, responses } = operation;
  const asked = requestBody?.content[JSON_TYPE].schema;
  const answered = responses[200].content?.[JSON_TYPE].schema;
  return `<section id="${operationId}">
<h3>${escapeHtml(summary)}</h3>
<p><span class="method ${method.toLowerCase()}">${method}</span> <code>${escapeHtml(base + path)}</code></p>
${proseHtml(description)}
${parameters.length === 0 ? '' : `<h4>Parameters</h4>${parametersTable(parameters)}`}
${asked ? `<h4>Body</h4><div class="table">${fieldsTable(asked)}</div>` : ''}
<details><summary>Answer</summary><div class="table">${answered ? fieldsTable(answered) : ''}</div></details>
<details><summary>Errors</summary>${errorsList(responses)}</details>
</section>`;
}

function parametersTable(parameters: readonly PageParameter[]): string {
  const rows = parameters.map((parameter) => {
    const { name, required, deprecated, description = '', schema } = parameter;
    const notes = [
      parameter.in === 'path' ? 'in the path' : required ? 'required' : '',
      deprecated ? '<span class="deprecated">deprecated</span>' : '',
      schema.default === undefined ? '' : `default ${codeOf(schema.default)}`,
    ].filter((note) => note !== '');
    return (
      `<tr><td><code>${escapeHtml(name)}</code><br><small>${notes.join(', ')}</small></td>` +
      `<td>${typeText(schema)}</td><td>${inlineHtml(description)}</td></tr>`
    );
  });
  return `<div class="table"><table><thead><tr><th>Name</th><th>Values</th><th>Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table></div>`;
}

function errorsList(responses: PageOperation['responses']): string {
  const errors = Object.entries(responses).filter(([status]) => Number(status) >= 400);
  const items = errors.map(
    ([status, { description }]) => `<li><strong>${status}</strong> ${inlineHtml(description)}</li>`,
  );
  return `<ul>${items.join('')}</ul>`;
}
