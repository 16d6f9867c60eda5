/** `npm run client-types`: writes client/generated/api.ts, the types of the API, from its OpenAPI description. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { format } from 'oxfmt';
import openapiTS, { astToString } from 'openapi-typescript';
import { root } from './prepare.mjs';

const FILE = path.join(root, 'client/generated/api.ts');

/** Formats a TypeScript file as `npm run format` does. */
async function formatted(file, text) {
  const options = JSON.parse(readFileSync(path.join(root, '.oxfmtrc.json'), 'utf8'));
  const { code, errors } = await format(file, text, { ...options, ignorePatterns: [] });
  if (errors.length > 0) throw new Error(errors[0].message);
  return code;
}

/** The file's text. @param description the document of `/openapi.json` */
export async function clientTypes(description) {
  const types = astToString(
    await openapiTS(withoutFailures(description), { excludeDeprecated: true }),
  );
  const text = [
    '/** Types of the API, made from its OpenAPI description by `npm run client-types`. */',
    types,
    '/** The documents of requests and replies, and their parts, by name. */',
    namedTypes(description),
    '/** Method and path of each operation. */',
    `export const OPERATIONS = ${JSON.stringify(routesOf(description))} as const;`,
  ].join('\n\n');
  return formatted(FILE, text);
}

/** Names for the types of schemas, except errors, for which the client throws FathomError. */
function namedTypes({ components }) {
  return Object.keys(components.schemas)
    .filter((name) => !name.endsWith('Error'))
    .map((name) => `export type ${name} = components['schemas']['${name}'];`)
    .join('\n');
}

function routesOf(description) {
  const routes = Object.entries(description.paths).flatMap(([route, item]) =>
    Object.entries(item).map(([method, { operationId }]) => [
      operationId,
      { method: method.toUpperCase(), path: route },
    ]),
  );
  return Object.fromEntries(routes);
}

/** A copy with only the JSON of successful replies: the client throws FathomError for errors. */
function withoutFailures(description) {
  const copy = structuredClone(description);
  for (const operation of Object.values(copy.paths).flatMap((item) => Object.values(item))) {
    const { schema } = operation.responses[200].content['application/json'];
    const content = { 'application/json': { schema } };
    operation.responses = { 200: { description: '', content } };
  }
  delete copy.components.headers;
  return copy;
}

if (process.argv[1] === import.meta.filename) {
  const { describeApi } = await import(path.join(root, 'dist/server/api/openapi.js'));
  const { ENDPOINTS } = await import(path.join(root, 'dist/server/endpoints.js'));
  writeFileSync(FILE, await clientTypes(describeApi(Object.values(ENDPOINTS))));
}
