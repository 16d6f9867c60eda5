/** The error codes of the API, their schemas, and errors that several endpoints throw. */
import Type, { type TSchema } from './type.js';
import { CHAINS } from '../../compute/market.js';
import { ApiError, reasonPhrase } from '../http/errors.js';
import { document } from './schemas.js';

interface ErrorCodeSpec {
  status: number;
  description: string;
  fields?: Readonly<Record<string, TSchema>>;
}

const chainSent = Type.String({ description: 'The chain value at fault.' });
const supportedChains = Type.Array(Type.Enum([...CHAINS], { type: 'string' }), {
  description: 'Chain keys that the endpoint covers; it accepts `all`, too.',
});

/** Every error code, with its status and the extra fields of its body. */
export const ERROR_CODES = {
  invalid_chain: {
    status: 400,
    description: 'The chain is neither a known chain key nor `all`.',
    fields: { chain: chainSent, supported_chains: supportedChains },
  },
  chain_not_supported: {
    status: 400,
    description: 'The endpoint does not cover the chain that was sent, or the chain of an address.',
    fields: { chain: chainSent, supported_chains: supportedChains },
  },
  chain_mismatch: {
    status: 400,
    description: 'The chain that was sent contradicts the address.',
    fields: {
      chain: chainSent,
      resolved_chain: Type.Enum([...CHAINS], { type: 'string' }),
      address: Type.String({
        description: 'The address; in a batch, the first that contradicts the chain.',
      }),
    },
  },
  invalid_group: {
    status: 400,
    description: '`markets` and `group` were sent with different meanings.',
  },
  window_out_of_range: { status: 400, description: 'The window ends more than 365 days ago.' },
  invalid_parameter: {
    status: 400,
    description: 'A parameter is missing, repeated, unknown, or has a bad value.',
    fields: { parameter: Type.String({ description: 'The name of the parameter.' }) },
  },
  invalid_address: {
    status: 400,
    description: 'An address is neither a base58 mint nor a 0x address.',
    fields: {
      parameter: Type.String({
        description:
          'The name of the parameter, in the path or the query, or of the field of the body.',
      }),
    },
  },
  invalid_body: { status: 400, description: 'The body is not JSON, or does not match its schema.' },
  reply_too_large: {
    status: 400,
    description:
      'The reply is larger than the server keeps for one client; the message says what to ask for instead. ' +
      'Free of charge.',
  },
  token_not_found: { status: 404, description: 'The token has no record.' },
  not_found: { status: 404, description: 'There is no such endpoint.' },
  method_not_allowed: {
    status: 405,
    description: 'The endpoint does not support the method; see `Allow`.',
  },
  not_acceptable: {
    status: 406,
    description: 'The reply has no acceptable media type or encoding.',
  },
  payload_too_large: { status: 413, description: 'The body is too long.' },
  unsupported_media_type: { status: 415, description: 'The body is not `application/json`.' },
  internal_error: { status: 500, description: 'The service failed. Free of charge.' },
  damaged_data: {
    status: 500,
    description: 'Stored data that the reply needs are damaged. Free of charge.',
  },
  replay_busy: {
    status: 503,
    description: 'The service is busy; retry after `Retry-After` seconds. Free of charge.',
  },
  archive_unavailable: {
    status: 503,
    description:
      'The archive that holds what the reply needs cannot be read; retry after `Retry-After` seconds. Free of charge.',
  },
} as const satisfies Record<string, ErrorCodeSpec>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** `invalid_chain` as a schema's name: InvalidChainError. */
function schemaName(code: ErrorCode): string {
  const words = code.replace(/_error$/, '').split('_');
  return `${words.map((word) => word[0].toUpperCase() + word.slice(1)).join('')}Error`;
}

function errorSchema(code: ErrorCode, name: string, more: Record<string, TSchema> = {}) {
  const { status, description, ...rest } = ERROR_CODES[code];
  const fields: Record<string, TSchema> = 'fields' in rest ? rest.fields : {};
  return document(
    name,
    {
      error: Type.Literal(reasonPhrase(status)),
      message: Type.String({ description: 'Human-readable description of the error.' }),
      error_code: Type.Literal(code),
      ...fields,
      ...more,
    },
    { description },
  );
}

const CODES = Object.keys(ERROR_CODES) as ErrorCode[];

export const ERROR_SCHEMAS = Object.fromEntries<TSchema>(
  CODES.map((code) => [code, errorSchema(code, schemaName(code))]),
) as Readonly<Record<ErrorCode, TSchema>>;

/** The body of 401. */
export const UNAUTHORIZED_ERROR = document(
  'UnauthorizedError',
  {
    error: Type.String(),
    error_code: Type.Optional(
      Type.Literal('key_expired', { description: 'The key has expired; otherwise missing.' }),
    ),
  },
  { description: 'Human-readable description of the error.' },
);

/** The body of 403 and 429. */
export const PLAIN_ERROR = document(
  'PlainError',
  { error: Type.String() },
  {
    description:
      'Human-readable description of the error; a 429 says how many seconds to wait, unless the ' +
      'request costs more than a month has.',
  },
);

/** The body of chain_mismatch of an endpoint that lists every mismatched address of a batch. */
export const BATCH_MISMATCH = errorSchema('chain_mismatch', 'BatchChainMismatchError', {
  mismatched_addresses: Type.Array(Type.String(), {
    description: 'Every address that contradicts the chain.',
  }),
});

/** A parameter with a bad value; `expectation` completes `NAME: `. */
export function invalidParameter(parameter: string, expectation: string): ApiError {
  const name = /^\S+$/.test(parameter) ? parameter : `'${parameter}'`;
  return new ApiError(400, 'invalid_parameter', `${name}: ${expectation}`, {
    fields: { parameter },
  });
}

/** Characters of a value in an error message: addresses have up to 44. */
const MAX_EXCERPT_CHARS = 64;

/** A client's value for an error message: shortened, and without control characters. */
export function excerpt(value: string): string {
  const short =
    value.length <= MAX_EXCERPT_CHARS ? value : `${value.slice(0, MAX_EXCERPT_CHARS)}...`;
  return short.replace(/[\p{Cc}\p{Cs}]/gu, (char) => {
    return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
