/** Who calls: every request needs a live API key (api.md 5). */
import type { KeyRecord, KeySource } from '../storage/seams.js';
import { ApiError } from './http/errors.js';
import type { RequestContext, Route } from './http/router.js';

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

/** A request whose key is known. */
export interface CallContext extends RequestContext {
  key: KeyRecord;
}

export interface KeyedRoute extends Omit<Route, 'handle'> {
  handle: (context: CallContext) => void | Promise<void>;
}

/**
 * What a plan says of a call, before it is answered: adds its headers to the reply, and throws an
 * ApiError where the call may not be made.
 */
export type PlanCheck = (context: CallContext) => void;

/** A route that is answered to holders of a key alone, as far as their plan goes. */
export function requireKey(
  keys: KeySource,
  { handle, ...route }: KeyedRoute,
  checkPlan: PlanCheck = () => undefined,
): Route {
  return {
    ...route,
    handle(context) {
      const key = authenticate(keys, context.exchange.header('x-api-key'));
      context.exchange.addHeader('X-API-Tier', key.tier);
      const call = { ...context, key };
      checkPlan(call);
      return handle(call);
    },
  };
}

function unauthorized(message: string): ApiError {
  return new ApiError(401, null, message, { headers: [['WWW-Authenticate', 'ApiKey']] });
}
