/** Who calls: every request needs a live API key (api.md 5). */
import type { KeyRecord, KeySource } from '../storage/contract.js';
import { ApiError } from './http/errors.js';

/** A longer key is none of ours, and not worth hashing. */
const MAX_KEY_CHARS = 256;

/**
 * The request's key.
 * @throws ApiError 401
 */
export function authenticate(keys: KeySource, header: string): KeyRecord {
  if (header === '') throw unauthorized('Missing API key: send it in the x-api-key header');
  const key = header.length <= MAX_KEY_CHARS ? keys.verify(header) : null;
  if (key === null) throw unauthorized('Invalid API key');
  return key;
}

function unauthorized(message: string): ApiError {
  return new ApiError(401, null, message, { headers: [['WWW-Authenticate', 'ApiKey']] });
}
