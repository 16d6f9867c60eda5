/** The API's OpenAPI 3.1 description, made from the table of endpoints. */
import type { TSchema } from './type.js';
import { CHAINS } from '../../compute/market.js';
import { bodySchema } from './parameters.js';
import { type ChainRule, takesChain } from './chain.js';
import { BASE_PATH, TAGS, type EndpointSpec } from './endpoint.js';
import {
  BATCH_MISMATCH,
  ERROR_CODES,
  ERROR_SCHEMAS,
  PLAIN_ERROR,
  UNAUTHORIZED_ERROR,
  type ErrorCode,
} from './errors.js';
import generated from './generated/examples.json' with { type: 'json' };
import { isRequired } from './query.js';
import { MEDIA_TYPES } from './replies.js';
import {
  archiveUnavailable,
  damagedData,
  internalError,
  replayBusy,
  replyTooLarge,
} from '../http/errors.js';
import { VERSION } from '../../storage/version.js';
import { addressParameter, takeNamedSchemas } from './schemas.js';

/** Version of the API, raised with every addition. The program is versioned separately. */
export const API_VERSION = '1.5.0';

type Named = Readonly<Record<string, string>>;

/** What the demo market answers, and the names of each operation's examples by status and by what they show. */
const EXAMPLES: {
  readonly examples: object;
  readonly ofOperations: Readonly<Record<string, Readonly<Record<string, Named>>>>;
} = generated;

const INTRODUCTION = [
  `This is version ${API_VERSION} of the API: every addition raises it. The program that serves it has a ` +
    `separate version: this is Fathom ${VERSION}.`,
  'Every request needs an API key in the `x-api-key` header; the operator makes one with `fathom keys ' +
    'create`. Replies are JSON, or MessagePack with ' +
    '`Accept: application/msgpack`; `Accept-Encoding` can ask for `gzip` or `br`.',
  'A bad value is an error, and so is a parameter that the endpoint does not have, unless the server runs ' +
    'with `--lenient-parameters`. Words, such as those of `chain` or `sort`, can be in upper or lower case. Every GET endpoint also answers HEAD. New fields can appear at any time: ignore unknown fields.',
  'The examples are replies of the demo market, which `npm start` serves; long lists are cut.',
  'An unknown path is a 404 `not_found`, an unsupported method a 405 `method_not_allowed` with an ' +
    '`Allow` header; their bodies have `error`, `message` and `error_code`.',
].join('\n\n');

const whole = (description: string) => ({ description, schema: { type: 'integer', minimum: 0 } });
const text = (description: string) => ({ description, schema: { type: 'string' } });
const UNLIMITED = '2147483647 means unlimited.';

const RESPONSE_HEADERS = {
  'X-Request-Id': text("Identifies the request in the server's log."),
  'X-API-Tier': {
    description: "The key's tier.",
    schema: { type: 'string', enum: ['premium', 'enterprise'] },
  },
  'X-RateLimit-Limit': whole(`Size of the tightest rate limit bucket. ${UNLIMITED}`),
  'X-RateLimit-Remaining': whole(`Requests left in that bucket. ${UNLIMITED}`),
  'X-RateLimit-Reset': whole('When that bucket is full again, Unix epoch seconds.'),
  'X-Quota-Limit': whole(`Calls per UTC month. ${UNLIMITED}`),
  'X-Quota-Used': whole('Calls used this month, including this one.'),
  'X-Quota-Remaining': whole(`Calls left this month. ${UNLIMITED}`),
  'X-Quota-Reset': whole('When the next month begins, Unix epoch seconds.'),
  'RateLimit-Policy': text('Size and period of every bucket that the request drew on.'),
  RateLimit: text('Requests left in each of these buckets, and seconds until it is full.'),
  'Retry-After': whole('Seconds to wait before retrying.'),
  'WWW-Authenticate': text('`ApiKey`: the request needs a key in the header `x-api-key`.'),
  'X-Data-Time': whole(
    'Time of the snapshot that the reply is based on, Unix epoch seconds; absent if there is none.',
  ),
  'X-Next-From': whole(
    '`next_from`, as in the body: where the next page begins. Absent on the last page, and for HEAD unless the page is made of fragments.',
  ),
  ETag: text('Tag of this page in this representation; sent if its window is in the past.'),
  'Repr-Digest': text(
    'Digest of the body as sent (RFC 9530), if `Want-Repr-Digest` asks for `sha-256` or `sha-512`.',
  ),
} as const;

/** The position of the last entry of the log that the server had applied (docs/storage.md). */
export const POSITION_HEADER = 'X-Fathom-Position';

type HeaderName = keyof typeof RESPONSE_HEADERS;

/** Response headers that clients of the API can use. */
export const RESPONSE_HEADER_NAMES = [...Object.keys(RESPONSE_HEADERS), 'Allow', POSITION_HEADER];

/** Headers of every reply to a valid key. */
export const PLAN_HEADERS: readonly HeaderName[] = [
  'X-API-Tier',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Quota-Limit',
  'X-Quota-Used',
  'X-Quota-Remaining',
  'X-Quota-Reset',
  'RateLimit-Policy',
  'RateLimit',
];

const EXAMPLE_ID = '01982f4c-5b1e-7cc3-9a55-3f6d0f1c2b7a';
/** Example errors that the demo market never returns. */
const FAILURES: Partial<Record<ErrorCode, object>> = {
  internal_error: internalError(EXAMPLE_ID).body,
  damaged_data: damagedData(EXAMPLE_ID).body,
  replay_busy: replayBusy().body,
  archive_unavailable: archiveUnavailable().body,
  reply_too_large: replyTooLarge(43_000_000, 8_388_608, 'send Accept-Encoding: gzip').body,
};

/** The description as plain data, the same on every call. */
export function describeApi(endpoints: readonly EndpointSpec[]) {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const endpoint of endpoints) {
    const path = endpoint.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: operationOf(endpoint) };
  }
  const { value, schemas } = takeNamedSchemas(paths);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Fathom',
      version: API_VERSION,
      summary: 'Market depth, scores and depth history of on-chain tokens, read-only.',
      description: INTRODUCTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: BASE_PATH, description: 'This server.' }],
    security: [{ apiKey: [] }],
    tags: TAGS,
    paths: value,
    components: {
      securitySchemes: {
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'x-api-key',
          description: 'API key of a paid plan. Use it from servers only, never in client code.',
        },
      },
      headers: RESPONSE_HEADERS,
      examples: {
        ...EXAMPLES.examples,
        ...Object.fromEntries(Object.entries(FAILURES).map(([code, value]) => [code, { value }])),
      },
      schemas,
    },
  };
}

interface Described extends TSchema {
  type?: string;
  description?: string;
  deprecated?: boolean;
  default?: unknown;
  enum?: readonly unknown[];
  examples?: readonly unknown[];
}

function operationOf(endpoint: EndpointSpec) {
  return {
    operationId: endpoint.operationId,
    tags: [endpoint.tag],
    summary: endpoint.summary,
    description: `${endpoint.description}\n\n${limitsText(endpoint)}`,
    parameters: parametersOf(endpoint),
    ...(endpoint.body === null ? {} : { requestBody: requestBodyOf(endpoint, endpoint.body) }),
    responses: { 200: success(endpoint), ...notModified(endpoint), ...errorResponses(endpoint) },
  };
}

function limitsText({ tier, quotaCost, rateBuckets }: EndpointSpec): string {
  const cost = { 0: 'nothing', 1: 'one call', tokens: 'one call per token requested' }[quotaCost];
  const who = tier === 'enterprise' ? 'Enterprise only' : 'Premium and Enterprise';
  const buckets = `the rate limit${rateBuckets.length > 1 ? 's' : ''} ${rateBuckets.map((name) => `\`${name}\``).join(' and ')}`;
  return `${who}. Costs ${cost} of the monthly quota; draws on ${buckets}.`;
}

function parametersOf({ path, query, chain }: EndpointSpec) {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name);
  const inPath = names.map((name) => parameter(name, 'path', true, addressParameter));
  const inQuery = Object.entries(query.properties).map(([name, schema]) =>
    parameter(name, 'query', isRequired(schema), schema),
  );
  return [...inPath, ...chainParameter(chain), ...inQuery];
}

/** An example value for which the demo market has data. */
function exampleOf({ type, examples, default: fallback, enum: words }: Described): unknown {
  return examples?.[0] ?? (type === 'boolean' ? true : (fallback ?? words?.[0]));
}

/** OpenAPI wants description and example beside the schema, not in it. */
function parameter(name: string, where: 'path' | 'query', required: boolean, schema: Described) {
  const { description, deprecated, examples = [], ...rest } = schema;
  return {
    name,
    in: where,
    required,
    ...(description === undefined ? {} : { description }),
    ...(deprecated === true ? { deprecated } : {}),
    ...(schema.type === 'array' ? { style: 'form', explode: false } : {}),
    example: exampleOf(schema),
    schema: examples.length > 1 ? { ...rest, examples } : rest,
  };
}

function chainParameter(rule: ChainRule) {
  if (!takesChain(rule)) return [];
  return [parameter('chain', 'query', false, chainSchema(rule))];
}

function chainSchema(rule: ChainRule): Described {
  const keys = { type: 'string', enum: [...rule.supported, 'all'] };
  const numeric = rule.kind === 'address' && rule.numericIds === true;
  const id = {
    type: 'string',
    pattern: '^[1-9][0-9]*$',
    description: 'Numeric id of the EVM chain.',
  };
  const values = numeric ? { anyOf: [keys, id] } : keys;
  const fallback = rule.kind === 'list' ? { default: 'mainchain' } : {};
  return { ...values, ...fallback, examples: ['mainchain'], description: chainText(rule) };
}

function chainText(rule: ChainRule): string {
  const all =
    rule.supported.length === 1 ? ` \`all\` is the same as \`${rule.supported[0]}\`.` : '';
  switch (rule.kind) {
    case 'list':
      return `Chains to list.${all}`;
    case 'filter':
      return "Legs of the asset to list. Default: the address' own chain.";
    case 'address':
      return `Optional check: the address decides the chain, and a contradiction is a \`chain_mismatch\`.${all}`;
    case 'batch':
      return `Optional check: every address has to be on this chain.${all}`;
    case 'absent':
    case 'none':
      return '';
  }
}

function requestBodyOf({ chain }: EndpointSpec, body: NonNullable<EndpointSpec['body']>) {
  const schema = bodySchema(body);
  const properties = { ...schema.properties, chain: chainSchema(chain) };
  const example = Object.fromEntries(
    schema.required.map((name) => [name, exampleOf(schema.properties[name])]),
  );
  const content = { 'application/json': { schema: { ...schema, properties }, example } };
  return { required: true, content };
}

function success({ operationId, response, prepares = [], dataTime }: EndpointSpec) {
  const described = { schema: response, ...examplesOf(operationId, 200) };
  const content = Object.fromEntries<unknown>([
    ...MEDIA_TYPES.map((type) => [type, described] as const),
    ...prepares.map((type) => [type, { schema: {} }] as const),
  ]);
  const more: HeaderName[] = prepares.length > 0 ? ['X-Next-From', 'ETag', 'Repr-Digest'] : [];
  if (dataTime) more.push('X-Data-Time');
  return { description: 'Success.', headers: headersOf(200, more), content };
}

/** Only prepared replies have entity tags. */
function notModified({ prepares }: EndpointSpec) {
  if (prepares === undefined) return {};
  const description =
    'The page has not changed since the one named by `If-None-Match`. Free of charge.';
  return { 304: { description, headers: headersOf(304, ['ETag']) } };
}

/** Every error code that an endpoint can reply with. */
function errorCodesOf({ chain, body, errors, smaller }: EndpointSpec): ErrorCode[] {
  const codes: ErrorCode[] = [];
  const coversAll = chain.kind === 'absent' || chain.supported.length === CHAINS.length;
  const oneAddress = 'at' in chain || (chain.kind === 'list' && chain.scope !== undefined);
  if (takesChain(chain) || chain.kind === 'batch') codes.push('invalid_chain');
  if (!coversAll) codes.push('chain_not_supported');
  const canContradict = chain.supported.length > 1;
  if (canContradict && (chain.kind === 'address' || chain.kind === 'batch')) {
    codes.push('chain_mismatch');
  }
  // Even an endpoint without parameters refuses unknown ones.
  codes.push('invalid_parameter');
  if (oneAddress || (chain.kind === 'batch' && chain.invalid === 'refused')) {
    codes.push('invalid_address');
  }
  if (body !== null) codes.push('invalid_body', 'payload_too_large', 'unsupported_media_type');
  if (smaller !== undefined) codes.push('reply_too_large');
  codes.push(...errors, 'not_acceptable', 'internal_error', 'damaged_data');
  codes.push('replay_busy', 'archive_unavailable');
  return [...new Set(codes)];
}

/** The error responses of an endpoint, by status. */
function errorResponses(endpoint: EndpointSpec): Record<string, unknown> {
  const codes = errorCodesOf(endpoint);
  const { operationId } = endpoint;
  const plain = (status: number, description: string) =>
    response(operationId, status, description, [PLAIN_ERROR]);
  const responses: Record<string, unknown> = {
    401: response(operationId, 401, 'The API key is missing, invalid or expired.', [
      UNAUTHORIZED_ERROR,
    ]),
    429: plain(429, 'The rate limit or the monthly quota is exceeded.'),
  };
  if (endpoint.tier === 'enterprise') {
    responses[403] = plain(403, "The key's tier does not include this endpoint.");
  }
  for (const status of new Set(codes.map((code) => ERROR_CODES[code].status))) {
    const ofStatus = codes.filter((code) => ERROR_CODES[code].status === status);
    const described = ofStatus.map((code) => `\`${code}\`: ${ERROR_CODES[code].description}`);
    const schemas = ofStatus.map((code) =>
      code === 'chain_mismatch' && 'namesOffenders' in endpoint.chain
        ? BATCH_MISMATCH
        : ERROR_SCHEMAS[code],
    );
    responses[status] = response(operationId, status, described.join(' '), schemas, ofStatus);
  }
  return responses;
}

function response(
  operationId: string,
  status: number,
  description: string,
  schemas: readonly TSchema[],
  codes: readonly ErrorCode[] = [],
) {
  const schema = schemas.length === 1 ? schemas[0] : { oneOf: schemas };
  const content = { 'application/json': { schema, ...examplesOf(operationId, status, codes) } };
  return { description, headers: headersOf(status), content };
}

/** References to the examples of a reply, or of errors by their codes. */
function examplesOf(operationId: string, status: number, codes: readonly ErrorCode[] = []) {
  const failures = codes.filter((code) => code in FAILURES).map((code) => [code, code] as const);
  const ofReplies = EXAMPLES.ofOperations[operationId]?.[status];
  const names = { ...ofReplies, ...Object.fromEntries(failures) };
  const examples = Object.entries(names).map(
    ([label, name]) => [label, { $ref: `#/components/examples/${name}` }] as const,
  );
  return examples.length === 0 ? {} : { examples: Object.fromEntries(examples) };
}

/** References to the headers of a reply. */
function headersOf(status: number, more: readonly HeaderName[] = []) {
  const names: HeaderName[] = ['X-Request-Id'];
  if (status === 401) names.push('WWW-Authenticate');
  else names.push(...PLAN_HEADERS);
  if (status === 429 || status === 503) names.push('Retry-After');
  return Object.fromEntries(
    [...names, ...more].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}
