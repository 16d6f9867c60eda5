/** What holds of every endpoint over sockets, from the list of endpoints: a new one needs no line here. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RATE_BUCKETS, type EndpointSpec } from '../../server/api/endpoint.js';
import { isRequired } from '../../server/api/query.js';
import { Limiter } from '../../server/limits/limiter.js';
import type { Plan, Plans } from '../../server/limits/plans.js';
import { checkedFetch, type Json } from '../support/conformance.js';
import { addressOf, bodyOf, EVERY, pathOf, type Schema } from '../support/endpoints.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { MemoryUsage } from '../support/memory-sources.js';
import {
  ENTERPRISE_KEY,
  KEY,
  MINT,
  startTestService,
  steadyStore,
  type TestService,
  WIDE_MINT,
} from '../support/service.js';

const NEVER = '1e999';
const NO_NUMBERS = ['x', 'NaN', 'Infinity', NEVER, '0x10', '%2B5', '5.', '1e', 'e-3'];
const each = EVERY.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint] as const);
const gets = each.filter(([, { method }]) => method === 'GET');
const posts = each.filter(([, { method }]) => method === 'POST');

const OF_FILTER = {
  ...{ types: [0, 100], exclude_types: [0, 100], venues: [0, 100], exclude_venues: [0, 100] },
  ...{ 'an item of venues': [0, 200], 'an item of exclude_venues': [0, 200] },
} satisfies Record<string, [number, number]>;

/** What the API promises of numbers, lengths and counts: least and most. */
const BOUNDS: Record<string, Record<string, [number, number | null]>> = {
  postScore: { addresses: [0, 50] },
  getMarketDepth: { currency: [0, 16], low_pct_change: [-0.9, 10], high_pct_change: [-0.9, 10] },
  getSlippage: { ...{ usd: [0, 20], move_pct: [0, 20] }, ...OF_FILTER },
  getDcaPressure: {
    ...{ order_limit: [1, 20], limit: [1, 50] },
    ...{ min_mcap: [0, null], max_mcap: [0, null] },
    ...{ min_liquidity: [0, null], max_liquidity: [0, null] },
  },
  getDcaOrders: {
    ...{ min_mcap: [0, null], max_mcap: [0, null] },
    ...{ min_liquidity: [0, null], max_liquidity: [0, null], limit: [1, 50] },
  },
  getLimitOrders: { low_pct_change: [-0.99, 10], high_pct_change: [-0.99, 10], limit: [1, 500] },
  getWhaleActivity: { include: [0, 100] },
  postWhaleActivity: { token_addresses: [0, 10] },
  getDlmmPools: { minTvl: [0, 10_000_000], mint: [0, 44] },
  getLpCheatSheet: { limit: [1, 100] },
  getDepthSeries: { pct: [0, 10], ...OF_FILTER },
  getTokens: { query: [0, 100], limit: [1, 100], cursor: [0, 400] },
};
const OF_REPLAY = {
  ...OF_FILTER,
  ...{ min_pct: [-90, 1000], max_pct: [-90, 1000] },
} satisfies (typeof BOUNDS)[string];

let service: TestService;
let limited: TestService;

beforeAll(async () => {
  const depth = () => {
    const made = new MemoryDepth();
    made.add('mainchain', MINT, steadyStore(5, 2));
    return made;
  };
  const rates = Object.fromEntries(
    RATE_BUCKETS.map((bucket) => [bucket, { requests: 1, periodS: 60 }]),
  ) as Plan['rates'];
  const plan = { monthlyQuota: Infinity, rates };
  const plans: Plans = {
    premium: { tier: 'premium', ...plan },
    enterprise: { tier: 'enterprise', ...plan },
  };
  service = await startTestService({ depth: depth() });
  limited = await startTestService({
    depth: depth(),
    limiter: new Limiter({ usage: new MemoryUsage(), plans }),
  });
});
afterAll(() => Promise.all([service.stop(), limited.stop()]));

function ask(to: TestService, endpoint: EndpointSpec, headers = {}, path = pathOf(endpoint)) {
  const { method } = endpoint;
  const body = bodyOf(endpoint);
  const type: Record<string, string> = body === null ? {} : { 'content-type': 'application/json' };
  return checkedFetch(`${to.server.url}/api/v1${path}`, {
    method,
    headers: { 'x-api-key': ENTERPRISE_KEY, ...type, ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
}

describe.each(each)('%s', (_, endpoint) => {
  it('answers, and says which plan the key has', async () => {
    const reply = await ask(service, endpoint);
    expect([reply.status, reply.headers.get('x-api-tier')]).toEqual([200, 'enterprise']);
    await reply.arrayBuffer();
  });

  it('401 without a key that is one, before all else', async () => {
    for (const headers of [
      { 'x-api-key': '' },
      { 'x-api-key': 'nobody' },
      { 'x-api-key': 'k'.repeat(5000) },
    ]) {
      const reply = await ask(service, endpoint, headers, `${endpoint.path}?zzz=1&chain=nowhere`);
      expect([reply.status, reply.headers.get('x-api-tier')]).toEqual([401, null]);
      expect(await reply.json()).toEqual({
        error: expect.stringMatching(/API key.* x-api-key header.*'fathom keys create'/) as string,
      });
    }
  });

  it('403 for a key of too low a tier, and only for that', async () => {
    const reply = await ask(service, endpoint, { 'x-api-key': KEY });
    expect(reply.status).toBe(endpoint.tier === 'enterprise' ? 403 : 200);
    const body: unknown = await reply.json();
    if (reply.status === 403) expect(body).toEqual({ error: expect.any(String) as string });
  });

  it('406 where no form of the reply is accepted', async () => {
    const others = endpoint.prepares ?? [];
    const arrow = 'application/vnd.apache.arrow.stream';
    for (const headers of [
      { accept: 'text/html' },
      { 'accept-encoding': 'identity;q=0, deflate' },
      ...(others.includes(arrow) ? [] : [{ accept: arrow }]),
    ]) {
      const reply = await ask(service, endpoint, headers);
      expect([headers, reply.status]).toEqual([headers, 406]);
      expect(await reply.json()).toMatchObject({ error_code: 'not_acceptable' });
    }
  });

  it('429 beyond the rate of its buckets, which say how long to wait', async () => {
    const key = `key of ${endpoint.operationId}`;
    limited.keys.add(key, 'enterprise');
    const [first, second] = [
      await ask(limited, endpoint, { 'x-api-key': key }),
      await ask(limited, endpoint, { 'x-api-key': key }),
    ];
    const isLimited = endpoint.rateBuckets.length > 0;
    expect([first.status, second.status]).toEqual([200, isLimited ? 429 : 200]);
    if (!isLimited) return;
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(second.headers.get('x-ratelimit-remaining')).toBe('0');
  });
});

it.each(each)('%s has the bounds that are promised', (_, { operationId, query, body }) => {
  const properties = { ...query.properties, ...body?.properties } as Record<string, Schema>;
  const bounds = Object.entries(properties).flatMap(([name, schema]) => {
    const most = schema.maximum ?? schema.maxLength ?? schema.maxItems ?? null;
    const isBound = most !== null || schema.minimum !== undefined;
    const length = schema.items?.maxLength;
    return [
      ...(isBound ? [[name, [schema.minimum ?? 0, most]] as const] : []),
      ...(length === undefined ? [] : [[`an item of ${name}`, [0, length]] as const]),
    ];
  });
  const isReplay = operationId.startsWith('getReplay');
  expect(Object.fromEntries(bounds)).toEqual(isReplay ? OF_REPLAY : (BOUNDS[operationId] ?? {}));
});

it.each(gets)('%s answers HEAD with the head of GET', async (_, endpoint) => {
  const at = addressOf(endpoint);
  const none = at === null ? '?zzz=1' : '';
  const wrong = `${endpoint.path.replace(':address', 'nonsense')}${none}`;
  for (const path of [pathOf(endpoint), wrong]) {
    const headers = { 'accept-encoding': 'identity' };
    const [got, head] = await Promise.all(
      ['GET', 'HEAD'].map((method) => service.get(path, { method, headers })),
    );
    expect(head.status).toBe(got.status);
    expect((await head.arrayBuffer()).byteLength).toBe(0);
    const names = [got, head].map(({ headers: of }) => new Set(of.keys()));
    const bytes = String((await got.arrayBuffer()).byteLength);
    // A page is not made for its length alone.
    if (endpoint.prepares && got.status === 200)
      for (const of of names) of.delete('content-length');
    else expect(head.headers.get('content-length')).toBe(bytes);
    expect(names[1]).toEqual(names[0]);
  }
});

it.each(gets.filter(([, { errors }]) => errors.includes('token_not_found')))(
  '%s answers 404 for a token without a record, which it does not queue',
  async (_, endpoint) => {
    const reply = await service.get(pathOf(endpoint).replace(MINT, WIDE_MINT));
    expect([reply.status, await reply.json()]).toEqual([
      404,
      expect.objectContaining({ error_code: 'token_not_found' }),
    ]);
    expect(service.queue.list().map(({ address }) => address)).not.toContain(WIDE_MINT);
  },
);

/** Values that a parameter refuses, percent-encoded. */
function badValues(schema: Schema): string[] {
  const { minimum, exclusiveMinimum, maximum, maxItems = 0, items = {} } = schema;
  if (schema.enum) return ['nope', `${schema.enum[0]}x`, `%20${schema.enum[0]}`];
  switch (schema.type) {
    case 'boolean':
      return ['1', 'yes', 'tru'];
    case 'integer':
    case 'number': {
      const beyond = [
        ...(minimum === undefined ? [] : [minimum - 0.01, minimum - 1]),
        ...(exclusiveMinimum === undefined ? [] : [exclusiveMinimum, exclusiveMinimum - 0.01]),
        ...(maximum === undefined ? [] : [maximum + 0.01, maximum + 1]),
      ];
      const parts = schema.type === 'integer' ? ['1.5', '1e1'] : [];
      return [...NO_NUMBERS, ...parts, ...beyond.map(String)];
    }
    case 'array': {
      const good = String(items.enum?.[0] ?? (items.type === 'number' ? 1 : 'a'));
      const many = Array.from({ length: maxItems + 1 }, () => good).join(',');
      const bad = items.enum ? ['nope', `${good},nope`, `${good},%20${good}`] : badValues(items);
      return [...bad, `${good},`, ',', `${good},,${good}`, many];
    }
    default:
      if (schema.format === 'instant') return ['abc', '1794659696000', '2026-11-14T00:00:00'];
      return schema.maxLength === undefined ? [] : ['a'.repeat(schema.maxLength + 1)];
  }
}

describe.each(gets.filter(([, { query }]) => Object.keys(query.properties).length > 0))(
  'bad parameters of %s',
  (_, endpoint) => {
    const addresses = [
      addressOf(endpoint)?.name,
      endpoint.chain.kind === 'list' ? endpoint.chain.scope : undefined,
    ];
    const properties = Object.entries(endpoint.query.properties);

    it.each(properties)('%s is named, whatever is wrong with it', async (name, schema) => {
      // What is wrong with an address stands among the rules of chains.
      const values = addresses.includes(name) ? [] : badValues(schema);
      const pairs = ['', '%zz', '%ff', '%E2%82', ...values].map((value) => `${name}=${value}`);
      for (const query of [...pairs, name, `${name}=1&&${name}=1`]) {
        const isOwn = addressOf(endpoint)?.name === name;
        const path = isOwn ? `${endpoint.path}?${query}` : pathOf(endpoint, query);
        const reply = await service.get(path);
        expect([query, reply.status, await reply.json()]).toEqual([
          query,
          400,
          expect.objectContaining({
            error_code: 'invalid_parameter',
            message: expect.stringContaining(`${name}: expected `) as string,
            parameter: name,
          }),
        ]);
      }
    });

    it('that are missing are named', async () => {
      for (const [name, schema] of properties.filter(([, one]) => isRequired(one))) {
        expect(schema).not.toHaveProperty('default');
        const reply = await service.get(endpoint.path.replace(':address', MINT));
        expect([reply.status, await reply.json()]).toEqual([
          400,
          expect.objectContaining({ error_code: 'invalid_parameter', parameter: name }),
        ]);
      }
    });
  },
);

/** Values that a field of a body refuses. */
function badFields({ type, items = {}, maxItems }: Schema): unknown[] {
  const others = [null, 7, 'x', true, {}, []].filter((value) =>
    type === 'array' ? !Array.isArray(value) : typeof value !== type,
  );
  if (type !== 'array') return others;
  const many = maxItems === undefined ? [] : [Array.from({ length: maxItems + 1 }, () => MINT)];
  const bad = items.enum ? ['nope', 7] : [7, null, {}, []];
  return [...others, ...many, ...bad.map((item) => [item])];
}

describe.each(posts)('bad bodies of %s', (_, endpoint) => {
  const schema = endpoint.body as unknown as Schema;
  const refused = async (document: unknown): Promise<string> => {
    const reply = await service.post(endpoint.path, document);
    const body = (await reply.json()) as Json;
    expect([document, reply.status, body.error_code]).toEqual([document, 400, 'invalid_body']);
    return body.message as string;
  };

  it('that are no object', async () => {
    for (const document of [null, [], 7, 'x']) {
      expect(await refused(document)).toBe('body: must be object');
    }
  });

  it.each(Object.entries(schema.properties ?? {}))('name the field %s', async (name, field) => {
    const right = bodyOf(endpoint) as Json;
    for (const value of badFields(field)) {
      expect(await refused({ ...right, [name]: value })).toMatch(
        new RegExp(`^${name}(\\[0\\])?: `),
      );
    }
    if (schema.required?.includes(name)) {
      const rest = Object.fromEntries(Object.entries(right).filter(([field]) => field !== name));
      expect(await refused(rest)).toBe(`${name}: expected a value, was not sent`);
    }
  });

  it('name a chain that is no text', async () => {
    for (const chain of [null, 1]) {
      expect(await refused({ ...bodyOf(endpoint), chain })).toBe('chain: must be string');
    }
  });
});
