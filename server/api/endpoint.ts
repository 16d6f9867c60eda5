/**
 * What an endpoint is. The route table is a list of these; parsing, validation, types, limits and
 * the API's description all come from it.
 */
import type { Static, TObject, TSchema } from 'typebox';
import type { KeyRecord, KeyTier } from '../../storage/contract.js';
import type { Exchange, Headers } from '../http/exchange.js';
import type { AddressRule, AskedToken, ChainFilter, ChainRule } from './chain.js';
import type { ErrorCode } from './error-codes.js';
import type { KeptReply } from './kept-reply.js';
import type { Tag } from './tags.js';

/** What requests draw on; a plan gives each bucket its figure. */
export const RATE_BUCKETS = [
  'general',
  'market-depth',
  'dca-pressure',
  'whale-get',
  'whale-post',
] as const;
export type RateBucket = (typeof RATE_BUCKETS)[number];

export interface EndpointSpec {
  /** Unique; the name of its handler. */
  readonly operationId: string;
  /** A GET endpoint answers HEAD too. */
  readonly method: 'GET' | 'POST';
  /** Below the base path; its last part may be `:address`. */
  readonly path: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description: string;
  /** The least tier that may call it. */
  readonly tier: KeyTier;
  /** Calls of the monthly quota that a 2xx costs; `tokens`: as many as tokens were asked for. */
  readonly quotaCost: 1 | 'tokens';
  /** Every one of them is drawn on by a call. */
  readonly rateBuckets: readonly RateBucket[];
  readonly chain: ChainRule;
  /**
   * Query parameters but `chain`, which follows from the rule. One with a default is not optional:
   * its parsed value is always there.
   */
  readonly query: TObject;
  /** The JSON body but for `chain`; null where the endpoint takes none. */
  readonly body: TObject | null;
  /** The body of a 200. */
  readonly response: TSchema;
  /** Error codes beside those that follow from its method, parameters and chain rule. */
  readonly errors: readonly ErrorCode[];
  /** Seconds that a client may keep a 200; where it is left out, replies are not to be kept. */
  readonly maxAgeS?: number;
  /** The handler prepares the reply's bytes itself: media types beside the API's own are its own. */
  readonly prepares?: readonly string[];
}

/** Names the type of a spec to its letter. */
export function defineEndpoint<const E extends EndpointSpec>(spec: E): E {
  return spec;
}

/** A request that may be answered: its key known, its plan asked, its parameters checked. */
export interface Call<E extends EndpointSpec = EndpointSpec> {
  readonly key: KeyRecord;
  /** Query parameters by name, defaults filled in; what was not sent is undefined. */
  readonly query: Static<E['query']>;
  readonly body: E['body'] extends TSchema ? Static<E['body']> : null;
  /**
   * List endpoints and filters: the chains whose rows are asked for. Endpoints of one address: that
   * address' chain. Endpoints of many: null.
   */
  readonly chain: ChainOf<E['chain']>;
  /** The address that was asked about; null on list endpoints where none was sent. */
  readonly token: E['chain'] extends { at: AddressRule }
    ? AskedToken
    : E['chain'] extends { scope: string }
      ? AskedToken | null
      : null;
  /** The addresses of a batch in the request's order, duplicates kept; else empty. */
  readonly tokens: readonly AskedToken[];
  /** Items of a batch that are no addresses, as sent. Where the endpoint lists none: empty. */
  readonly invalidAddresses: readonly string[];
  /** For handlers that work on after their client has gone, and for prepared replies. */
  readonly exchange: Exchange;
}

type ChainOf<R extends ChainRule> = R extends { kind: 'list' | 'filter' }
  ? ChainFilter
  : R extends { kind: 'batch' }
    ? null
    : AskedToken['chain'];

/** A reply whose bytes and headers are made by its handler; null: the client has gone. */
export interface PreparedReply {
  status: 200 | 304;
  headers: Headers;
  /** null where the status has no body. */
  body: Uint8Array | null;
}

/** The document of a 200, encoded by shared code; a KeptReply is encoded once for many requests. */
export type Reply<E extends EndpointSpec> = E extends { prepares: readonly string[] }
  ? PreparedReply | null
  : Static<E['response']> | KeptReply<Static<E['response']>>;

/**
 * Answers, or throws an ApiError. One that answers without a promise is replied to in the same turn
 * of the event loop.
 */
export type Handler<E extends EndpointSpec> = (call: Call<E>) => Reply<E> | Promise<Reply<E>>;
