/**
 * The specification of an endpoint, which determines parsing, validation, types, limits and the API's
 * description; its handler; and how plans check a call.
 */
import type { Static, TObject, TSchema } from './type.js';
import type { KeyRecord, KeyTier, TokenName } from '../../storage/contract.js';
import type { Headers } from '../http/errors.js';
import type { Exchange } from '../http/exchange.js';
import type { AddressRule, ChainFilter, ChainRule } from './chain.js';
import type { ErrorCode } from './errors.js';
import type { Reply } from './replies.js';

export const BASE_PATH = '/api/v1';

/** Groups of endpoints in the API's description. */
export const TAGS = [
  { name: 'Tokens', description: 'The list of tokens.' },
  { name: 'Scores', description: 'Liquidity scores of tokens.' },
  { name: 'Depth', description: 'Support and resistance by price level, now and over time.' },
  { name: 'Orders', description: 'Open DCA and limit orders.' },
  { name: 'Holders', description: 'Activity of large holders.' },
  { name: 'Liquidity providing', description: 'Pools and tokens where liquidity earns fees.' },
  { name: 'Account', description: "The key's usage." },
] as const;

type Tag = (typeof TAGS)[number]['name'];

/** The buckets of the rate limits; a plan sets the size of each. */
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
  /** Below the base path; the last segment can be `:address`. */
  readonly path: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description: string;
  /** The lowest tier that can call it. */
  readonly tier: KeyTier;
  /** Cost of a 2xx in calls of the monthly quota; `tokens`: one call per token requested. */
  readonly quotaCost: 0 | 1 | 'tokens';
  /** A call takes one request from each. */
  readonly rateBuckets: readonly RateBucket[];
  readonly chain: ChainRule;
  /**
   * Query parameters without `chain`, which follows from the rule. A parameter with a default is not optional:
   * its parsed value is always present.
   */
  readonly query: TObject;
  /** The JSON body without `chain`; null if the endpoint takes none. */
  readonly body: TObject | null;
  /** The body of a 200. */
  readonly response: TSchema;
  /**
   * For an endpoint whose replies can be too large for a client's budget: what to ask for instead, beside a compressed
   * reply.
   */
  readonly smaller?: string;
  /** Error codes in addition to those that follow from the method, parameters and chain rule. */
  readonly errors: readonly ErrorCode[];
  /** Whether a 200 has `X-Data-Time`, the time of the token's newest snapshot, if there is one. */
  readonly dataTime?: true;
  /** Seconds that a client may cache a 200; undefined: it may not. */
  readonly maxAgeS?: number;
  /** Set if the handler encodes its replies itself: media types in addition to the API's own. */
  readonly prepares?: readonly string[];
}

/** Values of most endpoints; a specification states only those that differ. */
export const USUAL = {
  tier: 'premium',
  quotaCost: 1,
  rateBuckets: ['general'],
  body: null,
  errors: [],
} as const satisfies Partial<EndpointSpec>;
type Usual = typeof USUAL;
type StatedSpec = Omit<EndpointSpec, keyof Usual> & Partial<Pick<EndpointSpec, keyof Usual>>;

/** Completes a specification and keeps its literal types. */
export function defineEndpoint<const E extends StatedSpec>(spec: E): Omit<Usual, keyof E> & E {
  return { ...USUAL, ...spec };
}

/** An admitted request: its key and plan are known, its parameters checked. */
export interface Call<E extends EndpointSpec = EndpointSpec> {
  readonly key: KeyRecord;
  /** Query parameters by name, with defaults filled in; undefined if not sent. */
  readonly query: Static<E['query']>;
  readonly body: E['body'] extends TSchema ? Static<E['body']> : null;
  /**
   * List endpoints and filters: the requested chains. Endpoints of one address: its chain. Batches:
   * null.
   */
  readonly chain: ChainOf<E['chain']>;
  /** The requested address; null on list endpoints if none was sent. */
  readonly token: E['chain'] extends { at: AddressRule }
    ? TokenName
    : E['chain'] extends { scope: string }
      ? TokenName | null
      : null;
  /** The addresses of a batch in the order of the request, duplicates included; else empty. */
  readonly tokens: readonly TokenName[];
  /** Items of a batch that are not addresses, as sent, if the endpoint lists them; else empty. */
  readonly invalidAddresses: readonly string[];
  /** For work that ends when the client disconnects, and for prepared replies. */
  readonly exchange: Exchange;
}

type ChainOf<R extends ChainRule> = R extends { kind: 'list' | 'filter' }
  ? ChainFilter
  : R extends { kind: 'batch' | 'absent' }
    ? null
    : TokenName['chain'];

/** A reply whose bytes and headers its handler makes. */
export interface PreparedReply {
  status: 200 | 304;
  headers: Headers;
  /** null if the status has no body. Unless it is shared, its memory is freed after sending. */
  body: Uint8Array | null;
  /** Whether other replies use the body, too. */
  isShared?: boolean;
}

/** The document of a 200, or a reply that makes it (see replies.ts). */
type WholeReply<Document> = Document | Reply<Document>;

/** What a handler returns. A prepared reply is null if the client has disconnected. */
type Answer<E extends EndpointSpec> = E extends { prepares: readonly string[] }
  ? PreparedReply | null
  : WholeReply<Static<E['response']>>;

/**
 * Answers, or throws an ApiError. Without a promise, the reply is sent in the same turn of the event
 * loop.
 */
export type Handler<E extends EndpointSpec> = (call: Call<E>) => Answer<E> | Promise<Answer<E>>;

export type Handlers<Table extends Readonly<Record<string, EndpointSpec>>> = {
  readonly [Id in keyof Table]: Handler<Table[Id]>;
};

/**
 * Called once per call, after authentication and before its parameters are read. Draws on the call's
 * rate buckets and holds its cost of the quota.
 * @throws ApiError 403 or 429, with the plan's headers
 */
export type PlanCheck = (key: KeyRecord, endpoint: LimitedEndpoint) => PlanGrant;

/** The part of an endpoint that plans need. */
export type LimitedEndpoint = Pick<
  EndpointSpec,
  'tier' | 'quotaCost' | 'rateBuckets' | 'method' | 'path'
>;

/** Permission to continue with a call. */
export interface PlanGrant {
  /**
   * Sets the cost of a call that is charged by its tokens.
   * @throws ApiError 429 if the quota has less left
   */
  costs(tokens: number): void;
  /**
   * Called once, when the reply's head is written, or with null if the client disconnected before.
   * Charges a 2xx and releases the hold of any other call.
   * @returns the plan's headers for this reply
   */
  settle(status: number | null): Headers;
}

/** Admits every call. */
export const unlimited: PlanCheck = ({ tier }) => ({
  costs() {},
  settle: () => [['X-API-Tier', tier]],
});
