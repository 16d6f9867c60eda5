/**
 * What an endpoint is: parsing, validation, types, limits and the API's description all come from its
 * specification. And what plans see of a call.
 */
import type { Static, TObject, TSchema } from 'typebox';
import type { KeyRecord, KeyTier } from '../../storage/contract.js';
import type { Headers } from '../http/errors.js';
import type { Exchange } from '../http/exchange.js';
import type { AddressRule, AskedToken, ChainFilter, ChainRule } from './chain.js';
import type { ErrorCode } from './errors.js';
import type { KeptReply } from './replies.js';

export const BASE_PATH = '/api/v1';

/** The groups in which the API's description lists endpoints. */
export const TAGS = [
  { name: 'Scores', description: 'Liquidity scores of tokens.' },
  { name: 'Depth', description: 'Support and resistance by price level, now and over time.' },
  { name: 'Orders', description: 'Orders that wait to be filled.' },
  { name: 'Holders', description: 'What large holders do.' },
  { name: 'Liquidity providing', description: 'Where liquidity earns fees.' },
] as const;

export type Tag = (typeof TAGS)[number]['name'];

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
  /** A call draws on each of them. */
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

/** Keeps the literal types of a specification. */
export function defineEndpoint<const E extends EndpointSpec>(spec: E): E {
  return spec;
}

/** An admitted request: its key and plan are known, its parameters checked. */
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
  /** For work that ends when the client goes, and for prepared replies. */
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

/** A handler for every endpoint of a table: without one of them it does not compile. */
export type Handlers<Table extends Readonly<Record<string, EndpointSpec>>> = {
  readonly [Id in keyof Table]: Handler<Table[Id]>;
};

/**
 * Called once a call, after authentication and before its parameters are read. Draws on the
 * call's rate buckets and holds what it costs of the quota.
 * @throws ApiError 403 or 429, with the headers that go with it
 */
export type PlanCheck = (key: KeyRecord, endpoint: LimitedEndpoint) => PlanGrant;

/** What plans see of an endpoint. */
export type LimitedEndpoint = Pick<EndpointSpec, 'tier' | 'quotaCost' | 'rateBuckets'>;

/** Permission to go on with a call. */
export interface PlanGrant {
  /**
   * Where the call's cost is the number of its tokens: told once that is known.
   * @throws ApiError 429 where the quota has less left
   */
  costs(tokens: number): void;
  /**
   * Called once, as the reply's head is written, or with null where the client has gone without
   * one: charges a 2xx, gives back what else was held.
   * @returns the plan's headers for this reply, X-API-Tier excepted
   */
  settle(status: number | null): Headers;
}

/** Permits every call, for services without limits. */
export const unlimited: PlanCheck = () => ({ costs() {}, settle: () => [] });
