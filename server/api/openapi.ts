/** The API's description (OpenAPI 3.1), made from the route table. */
import { BATCH_MISMATCH, ERROR_SCHEMAS } from './openapi-errors.js';
import { operationOf } from './openapi-operation.js';
import { RESPONSE_HEADERS } from './openapi-headers.js';
import { BASE_PATH, ENDPOINTS } from '../endpoints.js';
import { TAGS } from './tags.js';

/** Of the API, not of the program: raised by every addition (api.md 9). */
export const API_VERSION = '1.2.0';

const INTRODUCTION = [
  'Market depth, scores and depth history of on-chain tokens, read-only.',
  'Every request needs an API key in the `x-api-key` header. Replies are JSON, or MessagePack with ' +
    '`Accept: application/msgpack`; `gzip` and `br` are understood in `Accept-Encoding`.',
  'A parameter that an endpoint does not have is ignored; one with a bad value is an error. Every GET ' +
    'answers HEAD too. Additions come without notice: ignore fields that you do not know.',
  'A path that no endpoint has is a 404 `not_found`, a method that a path does not have a 405 ' +
    '`method_not_allowed` with `Allow`; their bodies are `error`, `message` and `error_code`.',
].join('\n\n');

/** Makes the description; plain data, the same every time. */
export function describeApi() {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const endpoint of Object.values(ENDPOINTS)) {
    const path = endpoint.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: operationOf(endpoint) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Fathom',
      version: API_VERSION,
      summary: 'Token liquidity: scores, market depth and depth history.',
      description: INTRODUCTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: BASE_PATH, description: 'This server.' }],
    security: [{ apiKey: [] }],
    tags: TAGS,
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'x-api-key',
          description:
            'An API key of a paid plan. For servers: it is not to be put into client code.',
        },
      },
      headers: RESPONSE_HEADERS,
      schemas: usedSchemas(paths),
    },
  };
}

export type ApiDescription = ReturnType<typeof describeApi>;

/** The error schemas that operations refer to. */
function usedSchemas(paths: unknown): Record<string, unknown> {
  const text = JSON.stringify(paths);
  const schemas = Object.entries({ ...ERROR_SCHEMAS, ...BATCH_MISMATCH });
  return Object.fromEntries(
    schemas.filter(([name]) => text.includes(`#/components/schemas/${name}"`)),
  );
}
