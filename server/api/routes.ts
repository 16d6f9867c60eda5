/** From the route table to routes: the rules that every endpoint shares, in their order. */
import type { KeySource } from '../../storage/contract.js';
import { invalidParameter } from '../http/errors.js';
import type { Exchange } from '../http/exchange.js';
import { QueryParameters } from '../http/query.js';
import type { Route } from '../http/router.js';
import { admit } from './admission.js';
import { compileBody, requireJson, type BodyValues } from './body-values.js';
import { DEFAULT_EVM_CHAIN_ID, resolveChain, type AddressRule, type ChainRule } from './chain.js';
import { replyDocument } from './encode.js';
import type { Call, EndpointSpec, Handler, PreparedReply } from './endpoint.js';
import { negotiateForm, smallForms, type SmallForms } from './forms.js';
import type { Handlers } from './handlers.js';
import type { PlanCheck, PlanGrant } from './plan.js';
import { compileQuery } from './query-values.js';
import { BASE_PATH, ENDPOINTS } from '../endpoints.js';

/** Far more than the longest batch of addresses takes. */
export const MAX_BODY_BYTES = 64 * 1024;

export interface ApiOptions {
  keys: KeySource;
  checkPlan: PlanCheck;
  /** The EVM chain's numeric id. */
  evmChainId?: number;
}

/** What a request says beside its key. */
type Parameters<E extends EndpointSpec> = Omit<Call<E>, 'key' | 'exchange'>;
/** Handlers look alike to what calls them; `Handlers` has checked each against its endpoint. */
type AnyHandler = (call: Call) => unknown;

/** The API's routes: one an endpoint, each with its handler. */
export function apiRoutes(handlers: Handlers, options: ApiOptions): Route[] {
  return Object.entries(ENDPOINTS).map(([id, endpoint]) =>
    endpointRoute<EndpointSpec>(endpoint, handlers[id as keyof Handlers] as AnyHandler, options),
  );
}

/** The route of one endpoint. */
export function endpointRoute<E extends EndpointSpec>(
  endpoint: E,
  handler: Handler<E> | AnyHandler,
  { keys, checkPlan, evmChainId = DEFAULT_EVM_CHAIN_ID }: ApiOptions,
): Route {
  const readParameters = parameterReader<EndpointSpec>(endpoint, evmChainId);
  const forms = smallForms(endpoint.maxAgeS ?? null);
  const serve = (context: Served, body: Uint8Array | null): void | Promise<void> => {
    const { exchange, key, grant, pathAddress } = context;
    const asked = readParameters(exchange, pathAddress, body);
    const { chain, token, tokens, invalidAddresses, query } = asked;
    if (endpoint.quotaCost === 'tokens') grant.costs(tokens.length);
    // Field by field, here and below: V8 gives what is spread a place among what lasts.
    const call = { chain, token, tokens, invalidAddresses, query, body: asked.body, key, exchange };
    return answer(endpoint, handler, call, forms);
  };
  return {
    method: endpoint.method,
    path: BASE_PATH + endpoint.path,
    ...(endpoint.body === null ? {} : { maxBodyBytes: MAX_BODY_BYTES }),
    handle({ exchange, params, body }) {
      const { key, grant } = admit(exchange, endpoint, keys, checkPlan);
      const context = { exchange, key, grant, pathAddress: params.address ?? null };
      if (body === null) return serve(context, null);
      requireJson(exchange.header('content-type'), exchange.header('content-encoding'));
      return body.then((bytes) => serve(context, bytes));
    },
  };
}

interface Served {
  exchange: Exchange;
  key: Call['key'];
  grant: PlanGrant;
  pathAddress: string | null;
}

/** Makes the function that reads and checks what a request of the endpoint asks for. */
export function parameterReader<E extends EndpointSpec>(
  { query: querySchema, body: bodySchema, chain: rule }: E,
  evmChainId: number,
): (
  exchange: Pick<Exchange, 'query'>,
  pathAddress: string | null,
  body: Uint8Array | null,
) => Parameters<E> {
  const readQuery = compileQuery(querySchema);
  const readBody = bodySchema && compileBody(bodySchema);
  return ({ query }, pathAddress, bytes) => {
    const body = readBody && bytes ? readBody(bytes) : null;
    const sent = new QueryParameters(query);
    const question = chainQuestion(rule, sent, pathAddress, body);
    const { chain, token, tokens, invalidAddresses } = resolveChain(rule, question, evmChainId);
    return {
      chain,
      token,
      tokens,
      invalidAddresses,
      query: readQuery(sent),
      body,
    } as Parameters<E>;
  };
}

function chainQuestion(
  rule: ChainRule,
  sent: QueryParameters,
  pathAddress: string | null,
  body: BodyValues | null,
) {
  const none: readonly string[] = [];
  switch (rule.kind) {
    case 'batch':
      return {
        chain: body?.chain ?? null,
        address: null,
        addresses: (body?.[rule.name] ?? none) as readonly string[],
      };
    case 'list':
      return {
        chain: sent.getText('chain'),
        address: rule.scope === undefined ? null : sent.get(rule.scope),
        addresses: none,
      };
    case 'none':
      return { chain: null, address: addressAt(rule.at, sent, pathAddress), addresses: none };
    case 'address':
    case 'filter':
      return {
        chain: sent.getText('chain'),
        address: addressAt(rule.at, sent, pathAddress),
        addresses: none,
      };
  }
}

function addressAt(at: AddressRule, sent: QueryParameters, pathAddress: string | null): string {
  const address = at.in === 'path' ? pathAddress : sent.get(at.name);
  if (address === null) throw invalidParameter(at.name, 'expected an address, was not sent');
  return address;
}

/** Negotiates before the handler works, and replies in the same turn where it does not wait. */
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
      if (reply !== null) exchange.reply(reply.status, reply.headers, reply.body);
    });
  }
  const form = negotiateForm(exchange, forms);
  const reply = handler(call);
  if (reply instanceof Promise) {
    return reply.then((document: object) => replyDocument(exchange, document, form));
  }
  return replyDocument(exchange, reply as object, form);
}
