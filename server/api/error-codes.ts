/** Every error code of the API with its status and the fields of its body beyond the common three. */
import Type, { type TSchema } from 'typebox';
import { CHAINS } from '../../compute/market.js';

export interface ErrorCodeSpec {
  status: number;
  description: string;
  fields?: Readonly<Record<string, TSchema>>;
}

const chainSent = Type.String({ description: 'The chain value that this is about.' });
const supportedChains = Type.Array(Type.Enum([...CHAINS], { type: 'string' }), {
  description: 'The chain keys that the endpoint covers; `all` is always understood beside them.',
});

export const ERROR_CODES = {
  invalid_chain: {
    status: 400,
    description: 'The chain is no known chain key and not `all`.',
    fields: { chain: chainSent, supported_chains: supportedChains },
  },
  chain_not_supported: {
    status: 400,
    description: 'A chain that the endpoint does not cover, sent as such or as an address of it.',
    fields: { chain: chainSent, supported_chains: supportedChains },
  },
  chain_mismatch: {
    status: 400,
    description: 'The chain that was sent contradicts the address.',
    fields: {
      chain: chainSent,
      resolved_chain: Type.Enum([...CHAINS], { type: 'string' }),
      address: Type.String({ description: 'The address, the first such one of a batch.' }),
    },
  },
  invalid_group: {
    status: 400,
    description: '`markets` and `group` were sent with different meanings.',
  },
  window_out_of_range: { status: 400, description: 'The window ends more than 365 days ago.' },
  invalid_parameter: {
    status: 400,
    description: 'A parameter is missing, sent repeatedly, or has a bad value.',
    fields: { parameter: Type.String({ description: 'The name of the parameter.' }) },
  },
  invalid_address: {
    status: 400,
    description: 'An address is neither a base58 mint nor a 0x address.',
  },
  invalid_body: { status: 400, description: 'The body is not JSON, or not of the shape expected.' },
  token_not_found: { status: 404, description: 'The token has no record.' },
  not_found: { status: 404, description: 'There is no such endpoint.' },
  method_not_allowed: { status: 405, description: 'The endpoint has other methods (`Allow`).' },
  not_acceptable: { status: 406, description: 'No form of the reply is acceptable.' },
  payload_too_large: { status: 413, description: 'The body is too long.' },
  unsupported_media_type: { status: 415, description: 'The body is not `application/json`.' },
  internal_error: { status: 500, description: 'The service failed; nothing is charged.' },
  replay_busy: {
    status: 503,
    description: 'No resources for this page now: retry in `Retry-After` seconds. Free of charge.',
  },
} as const satisfies Record<string, ErrorCodeSpec>;

export type ErrorCode = keyof typeof ERROR_CODES;
