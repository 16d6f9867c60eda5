/** Reads and checks a request's address, chain, query parameters and JSON body. */
import { TextDecoder } from 'node:util';
import Type, { type TObject, type TSchema } from './type.js';
import { ApiError } from '../http/errors.js';
import type { Exchange } from '../http/exchange.js';
import {
  type RequestedChain,
  type ChainRule,
  DEFAULT_EVM_CHAIN_ID,
  resolveChain,
  takesChain,
} from './chain.js';
import { checkerOf, fieldOf, type Fault } from './checker.js';
import type { Call, EndpointSpec } from './endpoint.js';
import { excerpt, invalidParameter } from './errors.js';
import { compileQuery, QueryParameters, wordFinder } from './query.js';

type Parameters<E extends EndpointSpec> = Omit<Call<E>, 'key' | 'exchange'>;

/** Settings for reading requests of every endpoint. */
export interface ReadingOptions {
  evmChainId?: number;
  /** Whether unknown query parameters are ignored. */
  lenientParameters?: boolean;
  /** A live channel whose messages have the parameters, for the error about an unknown one. */
  channel?: string;
}

/** The parameters that a request of an endpoint has in its query, or a message to its channel. */
function namesOf({ query, chain }: EndpointSpec, isChannel: boolean): ReadonlySet<string> {
  return new Set([
    ...(isChannel && 'at' in chain ? [chain.at.name] : []),
    ...(takesChain(chain) ? ['chain'] : []),
    ...Object.keys(query.properties),
  ]);
}

/** Makes the function that reads and checks the parameters of an endpoint's requests. */
export function parameterReader<E extends EndpointSpec>(
  endpoint: E,
  { evmChainId = DEFAULT_EVM_CHAIN_ID, lenientParameters = false, channel }: ReadingOptions = {},
): (
  exchange: Pick<Exchange, 'query'>,
  pathAddress: string | null,
  body: Uint8Array | null,
) => Parameters<E> {
  const rule = endpoint.chain;
  const known = namesOf(endpoint, channel !== undefined);
  const holder = channel === undefined ? 'this endpoint' : `channel ${channel}`;
  const readQuery = compileQuery(endpoint.query);
  const readBody = endpoint.body && compileBody(endpoint.body);
  return ({ query }, pathAddress, bytes) => {
    const body = readBody && bytes ? readBody(bytes) : null;
    const sent = new QueryParameters(query);
    if (!lenientParameters) sent.allowOnly(known, holder);
    const requested = requestedChainOf(rule, sent, pathAddress, body);
    const { chain, token, tokens, invalidAddresses } = resolveChain(rule, requested, evmChainId);
    const values = { chain, token, tokens, invalidAddresses, query: readQuery(sent), body };
    return values as Parameters<E>;
  };
}

const NO_ADDRESSES: readonly string[] = [];

function requestedChainOf(
  rule: ChainRule,
  sent: QueryParameters,
  pathAddress: string | null,
  body: BodyValues | null,
): RequestedChain {
  if (rule.kind === 'batch') {
    const addresses = (body?.[rule.name] ?? NO_ADDRESSES) as readonly string[];
    return { chain: body?.chain ?? null, address: null, addresses };
  }
  const chain = takesChain(rule) ? sent.getText('chain') : null;
  return { chain, address: addressOf(rule, sent, pathAddress), addresses: NO_ADDRESSES };
}

function addressOf(
  rule: ChainRule,
  sent: QueryParameters,
  pathAddress: string | null,
): string | null {
  if (!('at' in rule)) return 'scope' in rule && rule.scope ? sent.get(rule.scope) : null;
  const { at } = rule;
  const address = at.in === 'path' ? pathAddress : sent.get(at.name);
  if (address === null) throw invalidParameter(at.name, 'expected an address, was not sent');
  return address;
}

/** Media type of a body: JSON, whose charset is always UTF-8. */
const JSON_TYPE = /^application\/json *(; *charset="?utf-8"? *)?$/i;

/** @throws ApiError 415 */
export function requireJson(contentType: string, contentEncoding: string): void {
  if (!JSON_TYPE.test(contentType.trim())) {
    const given = contentType === '' ? ', was not sent' : `; was '${excerpt(contentType)}'`;
    throw unsupported(`Content-Type: expected application/json${given}`);
  }
  if (contentEncoding !== '' && contentEncoding.toLowerCase() !== 'identity') {
    throw unsupported(`Content-Encoding: expected none; was '${excerpt(contentEncoding)}'`);
  }
}

function unsupported(message: string): ApiError {
  return new ApiError(415, 'unsupported_media_type', message);
}

/** A body that matches its schema, with `chain`. */
type BodyValues = Record<string, unknown> & { chain?: string };

/** The schema of a whole body: the endpoint's fields and `chain`. */
export function bodySchema({ properties, title }: TObject & { title?: string }): TObject {
  return Type.Object({ ...properties, chain: Type.Optional(Type.String()) }, { title });
}

/** Makes the function that reads an endpoint's body. Unknown fields are ignored. */
function compileBody(schema: TObject): (bytes: Uint8Array) => BodyValues {
  const findFault = checkerOf(bodySchema(schema));
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  const lists = wordLists(schema);
  return (bytes) => {
    const value = parseJson(utf8, bytes);
    if (typeof value === 'object' && value !== null) spellWords(value as BodyValues, lists);
    const fault = findFault(value);
    if (fault !== null) throw invalidBody(explain(fault));
    return value as BodyValues;
  };
}

type WordLists = ReadonlyMap<string, (text: string) => unknown>;

/** Finders of the words that a body's lists may contain, by field. */
function wordLists({ properties }: TObject): WordLists {
  return new Map(
    Object.entries(properties).flatMap(([name, { items }]: [string, { items?: TSchema }]) => {
      const { enum: words } = (items ?? {}) as { enum?: readonly string[] };
      return words === undefined ? [] : [[name, wordFinder(words)] as const];
    }),
  );
}

/** Gives words the schema's case, because case does not matter, as in queries. */
function spellWords(body: BodyValues, lists: WordLists): void {
  for (const [name, find] of lists) {
    const items = body[name];
    if (!Array.isArray(items)) continue;
    body[name] = items.map((item: unknown) =>
      typeof item === 'string' ? (find(item) ?? item) : item,
    );
  }
}

function parseJson(utf8: TextDecoder, bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw invalidBody('body: expected UTF-8');
  }
  try {
    return JSON.parse(text);
  } catch {
    // The engine's message would not help the client, and differs between versions.
    throw invalidBody('body: expected a JSON document');
  }
}

function invalidBody(message: string): ApiError {
  return new ApiError(400, 'invalid_body', message);
}

function explain({ path, expected }: Fault): string {
  return `${fieldOf(path)}: ${expected ?? 'expected a value, was not sent'}`;
}
