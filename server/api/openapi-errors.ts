/** Error replies in the API's description: a schema for every error code, and who may get which. */
import Type, { type TSchema } from 'typebox';
import { CHAINS } from '../../compute/market.js';
import { reasonPhrase } from '../http/errors.js';
import type { EndpointSpec } from './endpoint.js';
import { ERROR_CODES, type ErrorCode } from './error-codes.js';
import { headersOf } from './openapi-headers.js';
import { document } from './schemas.js';

/** Of 401, 403 and 429. */
const PLAIN_ERROR = 'PlainError';
const BATCH_MISMATCH_NAME = 'BatchChainMismatchError';

/** `invalid_chain` as a schema's name: InvalidChainError. */
function schemaName(code: ErrorCode): string {
  return `${code.replace(/(^|_)(\w)/g, (_, _dash, letter: string) => letter.toUpperCase())}Error`;
}

function errorSchema(code: ErrorCode, more: Record<string, TSchema> = {}) {
  const { status, description, ...rest } = ERROR_CODES[code];
  const fields: Record<string, TSchema> = 'fields' in rest ? rest.fields : {};
  return document(
    {
      error: Type.Literal(reasonPhrase(status)),
      message: Type.String({ description: 'What is wrong, for people.' }),
      error_code: Type.Literal(code),
      ...fields,
      ...more,
    },
    { description },
  );
}

const CODES = Object.keys(ERROR_CODES) as ErrorCode[];

/** Schemas by name, of every error that the service replies with. */
export const ERROR_SCHEMAS: Readonly<Record<string, TSchema>> = {
  [PLAIN_ERROR]: document(
    { error: Type.String() },
    { description: 'What is wrong, for people; of a 429 with the seconds to wait.' },
  ),
  ...Object.fromEntries(CODES.map((code) => [schemaName(code), errorSchema(code)])),
};

/** chain_mismatch of an endpoint that names every offender of a batch. */
export const BATCH_MISMATCH: Readonly<Record<string, TSchema>> = {
  [BATCH_MISMATCH_NAME]: errorSchema('chain_mismatch', {
    mismatched_addresses: Type.Array(Type.String(), {
      description: 'Every address that contradicts the chain.',
    }),
  }),
};

/** Every error code with which an endpoint may reply. */
export function errorCodesOf({ chain, query, body, errors }: EndpointSpec): ErrorCode[] {
  const codes: ErrorCode[] = [];
  const hasChain = chain.kind !== 'none';
  const oneAddress = 'at' in chain || (chain.kind === 'list' && chain.scope !== undefined);
  if (hasChain) codes.push('invalid_chain');
  if (chain.supported.length < CHAINS.length) codes.push('chain_not_supported');
  if (chain.kind === 'address' || chain.kind === 'batch') codes.push('chain_mismatch');
  // A chain in the query may be sent repeatedly.
  const inQuery = hasChain && chain.kind !== 'batch';
  if (inQuery || Object.keys(query.properties).length > 0) codes.push('invalid_parameter');
  if (oneAddress || (chain.kind === 'batch' && chain.invalid === 'refused')) {
    codes.push('invalid_address');
  }
  if (body !== null) codes.push('invalid_body', 'payload_too_large', 'unsupported_media_type');
  codes.push(...errors, 'not_acceptable', 'internal_error', 'replay_busy');
  return [...new Set(codes)];
}

/** The error responses of an endpoint, by status. */
export function errorResponses(endpoint: EndpointSpec): Record<string, unknown> {
  const codes = errorCodesOf(endpoint);
  const responses: Record<string, unknown> = {
    401: plainResponse(401, 'The API key is missing or invalid.'),
    429: plainResponse(429, 'The rate limit or the monthly quota is exceeded.'),
  };
  if (endpoint.tier === 'enterprise') {
    responses[403] = plainResponse(403, 'The tier of the key does not include this endpoint.');
  }
  for (const status of new Set(codes.map((code) => ERROR_CODES[code].status))) {
    const ofStatus = codes.filter((code) => ERROR_CODES[code].status === status);
    const described = ofStatus.map((code) => `\`${code}\`: ${ERROR_CODES[code].description}`);
    const names = ofStatus.map((code) =>
      code === 'chain_mismatch' && 'namesOffenders' in endpoint.chain
        ? BATCH_MISMATCH_NAME
        : schemaName(code),
    );
    responses[status] = response(status, described.join(' '), names);
  }
  return responses;
}

function plainResponse(status: number, description: string) {
  return response(status, description, [PLAIN_ERROR]);
}

function response(status: number, description: string, schemas: readonly string[]) {
  const references = schemas.map((name) => ({ $ref: `#/components/schemas/${name}` }));
  const schema = references.length === 1 ? references[0] : { oneOf: references };
  return { description, headers: headersOf(status), content: { 'application/json': { schema } } };
}
