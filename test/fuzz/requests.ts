/** Random requests made from the endpoints' specifications: a new endpoint needs a line here only if it needs a parameter. */
import fc from 'fast-check';
import { BASE_PATH, type EndpointSpec } from '../../server/api/endpoint.js';
import { MINT } from '../support/ingest.js';
import { EVM_TOKEN, OTHER_MINT } from '../support/stores.js';
import { mutatedBytes, mutatedJson } from './random.js';
import { T } from './rows.js';

export interface Ask {
  method: string;
  /** Includes the query. */
  path: string;
  headers: Record<string, string>;
  body: Uint8Array | null;
}

/** The parts of a schema that are used. */
interface Schema {
  type?: string;
  format?: string;
  enum?: readonly unknown[];
  const?: unknown;
  anyOf?: readonly Schema[];
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  maxItems?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
}

/** The content of a request: valid, or sometimes odd. */
type Mood = 'right' | 'odd';

const ADDRESSES = [MINT, OTHER_MINT, EVM_TOKEN, `0x${'AB'.repeat(20)}`, 'z'.repeat(44), 'no', ''];
const addressIn = (mood: Mood): fc.Arbitrary<string> =>
  mood === 'right'
    ? fc.constant(MINT)
    : seldom(9, fc.constantFrom(...ADDRESSES), fc.string({ unit: 'binary', maxLength: 60 }));
const times = fc.oneof(
  fc.constantFrom('now', '-7d', '-365d', '2026-11-14', '2026-11-14T12:34:56Z', '-0s', '1e9'),
  fc.integer({ min: T - 100, max: T + 400_000 }).map(String),
);

/** A value that the schema accepts. */
function valueOf(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(valueOf));
  const { exclusiveMinimum: above = -1e6, maximum: max = 1e6 } = schema;
  const { minimum: min = above === -1e6 ? above : above + 1e-3 } = schema;
  switch (schema.type) {
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return fc.integer({ min: Math.ceil(min), max: Math.floor(max) });
    case 'number':
      return fc.oneof(fc.double({ min, max, noNaN: true }), fc.constantFrom(min, max));
    case 'array':
      return fc.array(valueOf(schema.items ?? {}), {
        minLength: 1,
        maxLength: schema.maxItems ?? 20,
      });
    case 'object': {
      const properties = Object.entries(schema.properties ?? {});
      return fc.record(
        Object.fromEntries(properties.map(([name, inner]) => [name, valueOf(inner)])),
      );
    }
    case 'string':
      return schema.format === 'instant'
        ? times
        : fc.oneof(fc.constantFrom(...ADDRESSES), fc.string());
    default:
      return fc.constant(null);
  }
}

/** Percent-encoded; lone surrogates, which cannot be encoded, are replaced. */
const encoded = (value: unknown): string =>
  encodeURIComponent(Buffer.from(String(value)).toString());

const oddText = fc.oneof(
  fc.constantFrom(
    '',
    '%zz',
    '%',
    '%00',
    '%ff%fe',
    '%ed%a0%80',
    '%c0%80',
    '+',
    ',',
    ',,',
    '-0',
    'NaN',
    '1e999',
    '0x10',
    '9007199254740993',
    '-999999999999s',
    '275760-09-13',
    ' ',
  ),
  fc.constantFrom('a'.repeat(3000), '%F0%9F%90%8B', '99999999999999999999', '1'.repeat(400)),
  fc.string({ unit: 'binary' }).map(encoded),
);

/** In one of `n` cases, the result of `odd`. */
function seldom<T>(n: number, usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: n - 1, arbitrary: usual }, { weight: 1, arbitrary: odd });
}

/** Parameters of a valid request besides an address. */
const NEEDED: Readonly<Partial<Record<string, readonly string[]>>> = {
  getSlippage: ['side', 'usd'],
};

function queryOf({ operationId, query, chain }: EndpointSpec, mood: Mood): fc.Arbitrary<string> {
  const ofAddress = [
    'at' in chain && chain.at.in === 'query' ? chain.at.name : null,
    chain.kind === 'list' ? (chain.scope ?? null) : null,
  ].filter((name) => name !== null);
  const names = Object.keys(query.properties);
  const needed = NEEDED[operationId] ?? [];
  const valueNamed = (name: string): fc.Arbitrary<string> => {
    if (name === 'chain') return fc.constantFrom('mainchain', 'evmchain', 'all', '1');
    const isAddress = ofAddress.includes(name);
    const schema = query.properties[name] as Schema;
    return (isAddress ? addressIn(mood) : valueOf(schema)).map(encoded);
  };
  const odd = fc
    .constantFrom(...names, 'chain', 'x')
    .chain((name) => fc.tuple(fc.constant(name), oddText));
  return fc
    .tuple(
      fc.subarray(names, { maxLength: Math.min(names.length, mood === 'right' ? 2 : 8) }),
      fc.array(odd, { maxLength: mood === 'right' ? 0 : 2 }),
      fc.boolean(),
    )
    .chain(([chosen, odds, withChain]) => {
      const more = mood === 'odd' && withChain ? ['chain'] : [];
      const always = mood === 'right' ? needed : [];
      const sent = [...new Set([...ofAddress, ...always, ...chosen, ...more])];
      const pairs = sent.map((name) => valueNamed(name).map((value) => `${name}=${value}`));
      return fc
        .tuple(...pairs)
        .map((texts) => [...texts, ...odds.map((pair) => pair.join('='))].join('&'));
    });
}

function bodyOf({ body, chain }: EndpointSpec, mood: Mood): fc.Arbitrary<Uint8Array | null> {
  if (body === null) return fc.constant(null);
  const good = valueOf(body as Schema).chain((value) =>
    chain.kind !== 'batch'
      ? fc.constant(value)
      : fc
          .array(addressIn(mood), { minLength: 1, maxLength: 30 })
          .map((addresses) => ({ ...(value as object), [chain.name]: addresses })),
  );
  const bytes = (document: unknown) => Buffer.from(JSON.stringify(document) ?? '');
  if (mood === 'right') return good.map(bytes);
  return fc.oneof(
    good.map(bytes),
    good.chain(mutatedJson).map(bytes),
    good.map(bytes).chain(mutatedBytes),
  );
}

const HEADERS: Readonly<Record<string, readonly string[]>> = {
  accept: ['*/*', 'application/json', 'application/msgpack', 'application/vnd.apache.arrow.stream'],
  'accept-encoding': ['gzip', 'br', 'identity', 'gzip;q=0.5, br;q=1.0', '*;q=0', 'deflate'],
  'if-none-match': ['*', '"x"', 'W/"x", "y"'],
  'want-repr-digest': ['sha-256=1', 'md5=10, sha-512=3'],
  origin: ['https://app.example.com', 'null'],
  'content-encoding': ['identity', 'gzip'],
  'last-event-id': ['1', '1.a.b.c.d.e'],
  'x-request-id': ['a', '"'],
  'x-forwarded-for': ['1.2.3.4', '::ffff:1.2.3.4', '1:2:3:4:5:6:7:8:9'],
};
const oddHeader = fc.oneof(
  fc.constantFrom('', ';', ',', ';q=', 'gzip;q=9', '"', '*/*;q=1.0000', 'a'.repeat(3000)),
  fc.stringMatching(/^[\x20-\x7e\xa0-\xff]{0,60}$/).map((text) => text.trim()),
);

function headersOf(
  keys: readonly string[],
  hasBody: boolean,
  mood: Mood,
): fc.Arbitrary<Record<string, string>> {
  const type = 'application/json';
  const needed = { 'x-api-key': keys[0], ...(hasBody ? { 'content-type': type } : {}) };
  if (mood === 'right') {
    return fc
      .constantFrom(...HEADERS['accept-encoding'])
      .map((coding) => ({ ...needed, 'accept-encoding': coding }));
  }
  const choices: Record<string, readonly string[]> = {
    ...HEADERS,
    'x-api-key': keys,
    'content-type': [type, 'application/json; charset=utf-8'],
  };
  const values = Object.entries(choices).map(
    ([name, values]) => [name, seldom(5, fc.constantFrom(...values), oddHeader)] as const,
  );
  return fc
    .record<Record<string, string>>(Object.fromEntries(values), { requiredKeys: [] })
    .map((chosen) => ({ ...needed, ...chosen }));
}

/** A valid or nearly valid request to the endpoint. */
export function askOf(endpoint: EndpointSpec, keys: readonly string[]): fc.Arbitrary<Ask> {
  return fc.constantFrom('right', 'odd', 'odd').chain((mood) => askIn(endpoint, keys, mood));
}

function askIn(endpoint: EndpointSpec, keys: readonly string[], mood: Mood): fc.Arbitrary<Ask> {
  const place = addressIn(mood).map(encoded);
  const methods = endpoint.method === 'GET' ? ['GET', 'GET', 'HEAD'] : ['POST'];
  const method = fc.constantFrom(...methods);
  const others = fc.constantFrom('PUT', 'DELETE', 'OPTIONS', 'POST');
  return fc
    .record({
      method: mood === 'right' ? method : seldom(20, method, others),
      place: mood === 'right' ? place : seldom(8, place, oddText),
      query: queryOf(endpoint, mood),
      headers: headersOf(keys, endpoint.body !== null, mood),
      body: bodyOf(endpoint, mood),
    })
    .map(({ method, place, query, headers, body }) => ({
      method,
      path: `${BASE_PATH}${endpoint.path.replace(':address', place)}?${query}`,
      headers,
      body,
    }));
}

/** The request as sent over the wire; its body by length, or in chunks. */
export function bytesOf({ method, path, headers, body }: Ask, chunked = false): Buffer {
  const framing = chunked ? 'transfer-encoding: chunked' : `content-length: ${body?.length ?? 0}`;
  const head = [
    `${method} ${path} HTTP/1.1`,
    'host: test',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === null ? [] : [framing]),
  ];
  const size = (body?.length ?? 0).toString(16);
  const end =
    chunked && body !== null
      ? [body.length > 0 ? `${size}\r\n` : '', body, '\r\n0\r\n\r\n']
      : [body ?? ''];
  return Buffer.concat(
    [`${head.join('\r\n')}\r\n\r\n`, ...end].map((part) => Buffer.from(part as string, 'latin1')),
  );
}
