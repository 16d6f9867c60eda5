/** What holds for every endpoint over sockets, from the list of endpoints: a new endpoint needs no line here. */
import { describe, expect, it } from 'vitest';
import type { EndpointSpec, RateBucket } from '../../server/api/endpoint.js';
import { PLAN_HEADERS } from '../../server/api/openapi.js';
import { checkedFetch } from '../support/conformance.js';
import { addressOf, bodyOf, EVERY, pathOf, type Schema } from '../support/endpoints.js';
import { MemoryDepth } from '../support/memory-depth.js';
import {
  ENTERPRISE_KEY,
  EVM_LEG,
  KEY,
  MINT,
  heldService,
  limiterOf,
  steadyStore,
  type TestService,
  WIDE_MINT,
} from '../support/service.js';

const each = EVERY.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint] as const);
const gets = each.filter(([, { method }]) => method === 'GET');

const OF_FILTER = {
  types: [0, 100],
  exclude_types: [0, 100],
  venues: [0, 100],
  exclude_venues: [0, 100],
  'an item of venues': [0, 200],
  'an item of exclude_venues': [0, 200],
} satisfies Record<string, [number, number]>;

/** Calls that draw on other buckets than the general one. */
const BUCKETS: Record<string, RateBucket[]> = {
  getMarketDepth: ['market-depth'],
  getDcaPressure: ['dca-pressure'],
  getWhaleActivity: ['general', 'whale-get'],
  postWhaleActivity: ['general', 'whale-post'],
};
/** Calls that cost more or less than one of the quota; each batch has two tokens. */
const COSTS: Record<string, number> = { getUsage: 0, postWhaleActivity: 2 };

/** The API's promised bounds of numbers, lengths and counts: least and most. */
const BOUNDS: Record<string, Record<string, [number, number | null]>> = {
  postScore: { addresses: [0, 50] },
  getMarketDepth: { currency: [0, 16], low_pct_change: [-0.9, 10], high_pct_change: [-0.9, 10] },
  getSlippage: { usd: [0, 20], move_pct: [0, 20], ...OF_FILTER },
  getDcaPressure: {
    order_limit: [1, 20],
    limit: [1, 50],
    min_mcap: [0, null],
    max_mcap: [0, null],
    min_liquidity: [0, null],
    max_liquidity: [0, null],
  },
  getDcaOrders: {
    min_mcap: [0, null],
    max_mcap: [0, null],
    min_liquidity: [0, null],
    max_liquidity: [0, null],
    limit: [1, 50],
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
  min_pct: [-90, 1000],
  max_pct: [-90, 1000],
} satisfies (typeof BOUNDS)[string];

const depth = new MemoryDepth().add('mainchain', MINT, steadyStore(5, 2), { asset: 'A' });
depth.add('evmchain', EVM_LEG, steadyStore(2, 1), { asset: 'A' });
const service = await heldService({ depth });
const limited = await heldService({ depth, limiter: limiterOf(1) });

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
  it('answers, and states the key’s plan', async () => {
    const reply = await ask(service, endpoint);
    expect([reply.status, reply.headers.get('x-api-tier')]).toEqual([200, 'enterprise']);
    await reply.arrayBuffer();
  });

  it('replies 401 without a valid key, before any other check', async () => {
    for (const headers of [
      { 'x-api-key': '' },
      { 'x-api-key': 'nobody' },
      { 'x-api-key': 'k'.repeat(5000) },
    ]) {
      const reply = await ask(service, endpoint, headers, `${endpoint.path}?zzz=1&chain=nowhere`);
      expect(reply.status).toBe(401);
      for (const name of PLAN_HEADERS) expect(reply.headers.get(name)).toBeNull();
      expect(await reply.json()).toEqual({
        error: expect.stringMatching(/API key.* x-api-key header.*'fathom keys create'/) as string,
      });
    }
  });

  it('replies 403 only if the key’s tier is too low', async () => {
    const reply = await ask(service, endpoint, { 'x-api-key': KEY });
    expect(reply.status).toBe(endpoint.tier === 'enterprise' ? 403 : 200);
    for (const name of PLAN_HEADERS) expect(reply.headers.get(name)).not.toBeNull();
    const body: unknown = await reply.json();
    if (reply.status !== 403) return;
    expect(body).toEqual({ error: expect.any(String) as string });
  });

  it('replies 406 if no form of the reply is accepted', async () => {
    const others = endpoint.prepares ?? [];
    const arrow = 'application/vnd.apache.arrow.stream';
    for (const headers of [
      { accept: 'text/html' },
      { 'accept-encoding': 'identity;q=0, deflate' },
      ...(others.includes(arrow) ? [] : [{ accept: arrow }]),
    ]) {
      const reply = await ask(service, endpoint, headers);
      expect([headers, reply.status]).toEqual([headers, 406]);
      if (endpoint.prepares) expect(reply.headers.get('vary')).toBe('Accept, Accept-Encoding');
      expect(await reply.json()).toMatchObject({ error_code: 'not_acceptable' });
    }
  });

  it('costs what is promised, and replies 429 beyond the rate of its buckets', async () => {
    const { operationId } = endpoint;
    const key = `key of ${operationId}`;
    limited.keys.add(key, 'enterprise');
    const replies = [];
    for (let i = 0; i < 2; i++) replies.push(await ask(limited, endpoint, { 'x-api-key': key }));
    expect(replies.map(({ status }) => status)).toEqual([200, 429]);
    const [{ headers: first }, { headers: second }] = replies;
    const policies = [...(first.get('ratelimit-policy') ?? '').matchAll(/"([^"]+)"/g)];
    expect(policies.map(([, name]) => name)).toEqual(BUCKETS[operationId] ?? ['general']);
    const cost = String(COSTS[operationId] ?? 1);
    expect([first.get('x-quota-used'), second.get('x-quota-used')]).toEqual([cost, cost]);
    expect(Number(second.get('retry-after'))).toBeGreaterThan(0);
    expect(second.get('x-ratelimit-remaining')).toBe('0');
  });
});

it.each(each)('%s has the promised bounds', (_, { operationId, query, body }) => {
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
    // A page is not made only for its length.
    if (endpoint.prepares && got.status === 200)
      for (const of of names) of.delete('content-length');
    else expect(head.headers.get('content-length')).toBe(bytes);
    expect(names[1]).toEqual(names[0]);
  }
});

it.each(gets.filter(([, { chain }]) => chain.kind === 'none'))(
  '%s answers a bridged leg from its mint',
  async (_, endpoint) => {
    const bodyOf = async (address: string) =>
      (await (await service.get(pathOf(endpoint).replace(MINT, address))).json()) as object;
    const own = await bodyOf(MINT);
    expect(own).toMatchObject({ token: MINT, chain: 'mainchain' });
    for (const leg of [EVM_LEG, EVM_LEG.toUpperCase().replace('0X', '0x')]) {
      expect(await bodyOf(leg)).toEqual({ ...own, token: EVM_LEG, resolved_token: MINT });
    }
  },
);

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
