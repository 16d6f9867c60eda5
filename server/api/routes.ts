/** Turns endpoints into routes, which process every request in the same steps. */
import type { KeyRecord, KeySource } from '../../storage/contract.js';
import { isoOf } from '../../compute/time.js';
import { wallS } from '../../storage/wall-clock.js';
import { ApiError } from '../http/errors.js';
import type { Exchange } from '../http/exchange.js';
import type { Route } from '../http/router.js';
import { parameterReader, type ReadingOptions, requireJson } from './parameters.js';
import {
  BASE_PATH,
  type Call,
  type EndpointSpec,
  type Handlers,
  type LimitedEndpoint,
  type PlanCheck,
  type PlanGrant,
  type PreparedReply,
  USUAL,
} from './endpoint.js';
import { negotiateForm, replyDocument, smallForms, type SmallForms } from './replies.js';

/** Maximum size of a request body; the longest batch of addresses takes far less. */
export const MAX_BODY_BYTES = 64 * 1024;

interface ApiOptions {
  keys: KeySource;
  checkPlan: PlanCheck;
  reading: ReadingOptions;
}

/** An untyped handler; `Handlers` has checked each against its endpoint. */
type AnyHandler = (call: Call) => unknown;

export function apiRoutes<E extends Readonly<Record<string, EndpointSpec>>>(
  endpoints: E,
  handlers: Handlers<E>,
  options: ApiOptions,
): Route[] {
  return Object.entries(endpoints).map(([id, endpoint]) =>
    endpointRoute(endpoint, handlers[id] as AnyHandler, options),
  );
}

function endpointRoute(
  endpoint: EndpointSpec,
  handler: AnyHandler,
  { keys, checkPlan, reading }: ApiOptions,
): Route {
  const readParameters = parameterReader(endpoint, reading);
  const forms = smallForms(endpoint.maxAgeS ?? null);
  const { method, path, tier, quotaCost, rateBuckets } = endpoint;
  // The same fields for every endpoint: V8 then reads them faster than those of objects with different fields.
  const limited: LimitedEndpoint = { method, path, tier, quotaCost, rateBuckets };
  const serve = (context: Served, bytes: Uint8Array | null): void | Promise<void> => {
    const { exchange, key, grant, pathAddress } = context;
    const values = readParameters(exchange, pathAddress, bytes);
    const { chain, token, tokens, invalidAddresses, query, body } = values;
    if (quotaCost === 'tokens') grant.costs(tokens.length);
    // Field by field: V8 allocates spread objects in the old generation.
    const call = { chain, token, tokens, invalidAddresses, query, body, key, exchange };
    return answer(endpoint, handler, call, forms);
  };
  return {
    method,
    path: BASE_PATH + path,
    ...(endpoint.body === null ? {} : { maxBodyBytes: MAX_BODY_BYTES }),
    handle({ exchange, params, readBody }) {
      const { key, grant } = admit(exchange, limited, keys, checkPlan);
      exchange.smaller = endpoint.smaller ?? null;
      const context = { exchange, key, grant, pathAddress: params.address ?? null };
      if (endpoint.body === null) return serve(context, null);
      requireJson(exchange.header('content-type'), exchange.header('content-encoding'));
      return readBody().then((bytes) => serve(context, bytes));
    },
  };
}

interface Served {
  exchange: Exchange;
  key: Call['key'];
  grant: PlanGrant;
  pathAddress: string | null;
}

/** Negotiates before the handler runs, and replies in the same turn if it does not await. */
function answer(
  endpoint: EndpointSpec,
  handler: AnyHandler,
  call: Call,
  forms: SmallForms,
): void | Promise<void> {
  const { exchange } = call;
  if (endpoint.prepares !== undefined) {
    const prepared = handler(call) as Promise<PreparedReply | null>;
    return prepared.then((reply) => {
      if (reply !== null)
        exchange.reply(reply.status, reply.headers, reply.body, reply.isShared ? 'shared' : 'once');
    });
  }
  const form = negotiateForm(exchange, forms);
  const reply = handler(call);
  if (reply instanceof Promise) {
    return reply.then((document: object) => replyDocument(exchange, document, form));
  }
  return replyDocument(exchange, reply as object, form);
}

/**
 * Authenticates a request and checks its limits. Any reply has the headers of the key's plan.
 * @throws ApiError 401, 403, 429
 */
export function admit(
  exchange: Exchange,
  endpoint: LimitedEndpoint,
  keys: KeySource,
  checkPlan: PlanCheck,
): { key: KeyRecord; grant: PlanGrant } {
  const key = authenticate(keys, exchange);
  exchange.belongsTo(key.id);
  const grant = checkPlan(key, endpoint);
  exchange.onSettled((status) => grant.settle(status));
  return { key, grant };
}

/** Limits of requests with an unknown path or method. */
const NO_ENDPOINT: LimitedEndpoint = { ...USUAL, method: 'GET', path: '' };

/** Requires a key for requests below the API's path that match no endpoint. */
export function admitUnrouted(keys: KeySource, checkPlan: PlanCheck): (exchange: Exchange) => void {
  return (exchange) => {
    if (exchange.path.startsWith(`${BASE_PATH}/`)) admit(exchange, NO_ENDPOINT, keys, checkPlan);
  };
}

/** Ends the messages about missing and invalid keys. */
const SOURCE = "The operator of this server creates keys with 'fathom keys create'.";

/** Longer keys cannot be valid and are not hashed. */
const MAX_KEY_CHARS = 256;

/** Whether a request has a key that is valid. */
export function hasKey(keys: KeySource, exchange: Exchange): boolean {
  const key = keyOf(keys, exchange.header('x-api-key'));
  return key !== null && !isExpired(key);
}

/** The key with this text, even if it has expired; null: there is none. */
function keyOf(keys: KeySource, text: string): KeyRecord | null {
  return text === '' || text.length > MAX_KEY_CHARS ? null : keys.verify(text);
}

function isExpired({ expiresAtS }: KeyRecord): boolean {
  return expiresAtS !== null && wallS() >= expiresAtS;
}

function authenticate(keys: KeySource, exchange: Exchange): KeyRecord {
  const text = exchange.header('x-api-key');
  if (text === '')
    throw unauthorized(`Missing API key: send one in the x-api-key header. ${SOURCE}`);
  return validKey(keys, text, 'the one in the x-api-key header');
}

/**
 * Finds the key with this text.
 * @param source where the text comes from, for the error
 * @throws ApiError 401
 */
export function validKey(keys: KeySource, text: string, source: string): KeyRecord {
  const key = keyOf(keys, text);
  if (key === null) {
    throw unauthorized(`Invalid API key: ${source} is unknown, revoked or mistyped. ${SOURCE}`);
  }
  if (isExpired(key)) {
    const at = isoOf(key.expiresAtS ?? 0);
    throw unauthorized(`This API key expired at ${at}. ${SOURCE}`, { error_code: 'key_expired' });
  }
  return key;
}

function unauthorized(message: string, fields: { error_code?: 'key_expired' } = {}): ApiError {
  return new ApiError(401, null, message, { fields, headers: [['WWW-Authenticate', 'ApiKey']] });
}
