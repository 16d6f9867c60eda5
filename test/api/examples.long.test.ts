/**
 * The examples of the API's description: what a demo market replies. `npm run api-examples` makes this file regenerate
 * server/api/generated/examples.json.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { EXAMPLE_MINTS } from '../../server/api/schemas.js';
import type { ENDPOINTS } from '../../server/endpoints.js';
import { newKey, serveHere, withStoreOf } from '../support/cli.js';
import { checkedFetch, description, type Json } from '../support/conformance.js';
import { demoMarket } from '../support/demo-market.js';
import { NOW_S } from '../support/service.js';
import { eventually } from '../support/waiting.js';

const FILE = 'server/api/generated/examples.json';
/** Longer lists are cut. */
const MOST_ITEMS = 3;

/** Without the limits of holder flow, which are one request per second. */
const PLANS = '{"enterprise": {"rates": {"whale-get": "general", "whale-post": "general"}}}';

const [MINT] = EXAMPLE_MINTS;
const UNKNOWN_MINT = '11111111111111111111111111111111';
const EVM_ADDRESS = '0x10f52a564a079afdbe7728847f20c9fb9a81c735';

/** Requests whose reply is short and shows most fields: the lists of 30 days are not cut. */
const QUERIES: Readonly<Record<string, string>> = {
  getScore: 'explain=true',
  getTopScores: 'chain=all',
  getMarketDepth: 'low_pct_change=-0.01&high_pct_change=0.01&include_summary=true',
  getSlippage: 'side=sell&usd=50000&move_pct=1,2',
  getDcaPressure: 'include_orders=true&order_limit=1&limit=1',
  getDcaOrders: 'limit=1',
  getLimitOrders: 'limit=2',
  getWhaleActivity: 'include=summary,wallets&wallet_limit=20',
  getDlmmPools: 'period=24h',
  getLpCheatSheet: 'window=24h',
  getReplay: 'from=-4m&min_pct=-1&max_pct=1&types=cex_spot',
  getReplayPlan: 'group=all',
  getDepthSeries: 'from=-1d&step=1h&pct=1,2&types=cex_spot',
  getTokens: 'query=so&chain=all&limit=1',
};

interface Request {
  path: string;
  query: URLSearchParams;
  body: Json | null;
  headers: Record<string, string>;
}

/** `waiting`: requests whose number depends on the machine; the usage of `enterprise` is an example. */
const keys = { enterprise: '', premium: '', once: '', waiting: '' };
let url: string;

beforeAll(async () => {
  const directory = await demoMarket();
  keys.enterprise = await newKey(directory);
  keys.waiting = await newKey(directory);
  await withStoreOf(directory, async (store) => {
    keys.premium = (await store.createKey({ tier: 'premium' })).key;
    keys.once = (await store.createKey({ tier: 'enterprise', requestsPerMinute: 1 })).key;
  });
  ({ url } = await serveHere(directory, ['--as-of', String(NOW_S)], { FATHOM_PLANS: PLANS }));
  // The first boards of pools are ready before the depth in their price ranges is read.
  const pools = operations.find(({ id }) => id === 'getDlmm') as Operation;
  await eventually('price ranges have their depth', async () => {
    const { body } = await ask(pools, requestOf(pools, keys.waiting));
    return 'rangeYield' in body.chips.leaders;
  });
});

const operations = Object.entries<Json>(description.paths).flatMap(([path, item]) =>
  Object.entries<Json>(item).map(([method, operation]) => ({
    path,
    method: method.toUpperCase(),
    operation,
    id: operation.operationId as keyof typeof ENDPOINTS,
  })),
);
type Operation = (typeof operations)[number];

/** A request of an operation with every parameter that it needs: `/slippage` needs one of two. */
function requestOf({ path, operation, id }: Operation, key = keys.enterprise): Request {
  const parameters = (operation.parameters as Json[]).filter(
    ({ required, name }) => required || (id === 'getSlippage' && name === 'usd'),
  );
  const query = parameters.filter((parameter) => parameter.in === 'query');
  return {
    path: path.replace('{address}', MINT),
    query: new URLSearchParams(
      query.map(({ name, example }): [string, string] => [name as string, String(example)]),
    ),
    body: (operation.requestBody?.content['application/json'].example as Json | undefined) ?? null,
    headers: { 'x-api-key': key },
  };
}

const lineOf = ({ path, query }: Request) =>
  query.size > 0 ? `${path}?${decodeURIComponent(String(query))}` : path;

async function ask({ method }: Operation, request: Request, body = JSON.stringify(request.body)) {
  const { headers } = request;
  const reply = await checkedFetch(`${url}/api/v1${lineOf(request)}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(method === 'POST' ? { body } : {}),
  });
  return { status: reply.status, body: (await reply.json()) as Json };
}

function withChain(request: Request, chain: string, address = MINT as string): Request {
  const { path, body } = request;
  const query = new URLSearchParams(request.query);
  if (query.has('token_address')) query.set('token_address', address);
  if (body === null) query.set('chain', chain);
  return {
    ...request,
    path: path.replace(MINT, address),
    query,
    body: body && {
      ...Object.fromEntries(Object.keys(body).map((name) => [name, [address]])),
      chain,
    },
  };
}

function withAddress(request: Request, address: string): Request {
  const { query, body } = withChain(request, '', address);
  query.delete('chain');
  delete body?.chain;
  return { ...request, path: request.path.replace(MINT, address), query, body };
}

function withQuery(request: Request, name: string, value: string): Request {
  const query = new URLSearchParams(request.query);
  query.set(name, value);
  return { ...request, query };
}

/** Requests that get an error, by its code or status. */
const PROVOKING: Readonly<
  Record<string, (operation: Operation, good: Request) => ReturnType<typeof ask>>
> = {
  invalid_chain: (operation, good) => ask(operation, withChain(good, 'nowhere')),
  chain_not_supported: (operation, good) => ask(operation, withChain(good, 'evmchain')),
  chain_mismatch: (operation, good) => ask(operation, withChain(good, 'mainchain', EVM_ADDRESS)),
  invalid_parameter: (operation, good) => {
    const names = (operation.operation.parameters as Json[]).map(({ name }) => name as string);
    return ask(operation, withQuery(good, names.includes('limit') ? 'limit' : 'limits', '0'));
  },
  invalid_address: (operation, good) =>
    ask(
      operation,
      operation.id === 'getDlmmPools'
        ? withQuery(good, 'mint', 'nowhere')
        : withAddress(good, 'nowhere'),
    ),
  invalid_group: (operation, good) =>
    ask(operation, withQuery(withQuery(good, 'group', 'all'), 'markets', 'split')),
  window_out_of_range: (operation, good) => {
    const names = (operation.operation.parameters as Json[]).map(({ name }) => name as string);
    return ask(operation, withQuery(good, names.includes('to') ? 'to' : 'at', '2020-01-01'));
  },
  invalid_body: (operation, good) => ask(operation, good, '{}'),
  payload_too_large: (operation, good) => ask(operation, good, '"'.padEnd(1 << 20)),
  unsupported_media_type: (operation, good) =>
    ask(operation, { ...good, headers: { ...good.headers, 'content-type': 'text/plain' } }),
  token_not_found: (operation, good) => ask(operation, withAddress(good, UNKNOWN_MINT)),
  not_acceptable: (operation, good) =>
    ask(operation, { ...good, headers: { ...good.headers, accept: 'image/png' } }),
  401: (operation, good) => ask(operation, { ...good, headers: {} }),
  403: (operation) => ask(operation, requestOf(operation, keys.premium)),
  429: async (operation) => {
    const request = requestOf(operation, keys.once);
    const first = await ask(operation, request);
    return first.status === 429 ? first : ask(operation, request);
  },
};
/** For replies that a healthy server does not give, the description has examples from the code. */
const FAILURES = [
  'internal_error',
  'damaged_data',
  'replay_busy',
  'archive_unavailable',
  'reply_too_large',
];

/** Error codes that an operation's description has for a status; none for 401, 403 and 429. */
function codesOf({ operation }: Operation, status: string): string[] {
  const { schema } = operation.responses[status].content['application/json'] as Json;
  return ((schema.oneOf ?? [schema]) as Json[]).flatMap(({ $ref }) => {
    const { properties } = description.components.schemas[($ref as string).split('/').at(-1) ?? ''];
    return (properties.error_code?.const as string | undefined) ?? [];
  });
}

function cut(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, MOST_ITEMS).map(cut);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, cut(item)]));
}

type Examples = Record<string, { summary?: string; value: unknown }>;
type ExamplesOf = Record<string, Record<string, Record<string, string>>>;

/** Requests a reply for every operation and status. */
async function askForExamples(): Promise<{ examples: Examples; ofOperations: ExamplesOf }> {
  const examples: Examples = {};
  const ofOperations: ExamplesOf = {};
  for (const operation of operations) {
    const { id, method } = operation;
    const good = requestOf(operation);
    const named: Request = { ...good, query: new URLSearchParams(QUERIES[id] ?? '') };
    for (const [name, value] of good.query) named.query.set(name, value);
    if (id === 'postWhaleActivity') named.body = { ...good.body, include: ['summary'] };
    const { status, body } = await ask(operation, named);
    expect([id, status]).toEqual([id, 200]);
    examples[id] = { summary: `${method} ${lineOf(named)}`, value: cut(body) };
    ofOperations[id] = { 200: { reply: id } };
    for (const described of Object.keys(operation.operation.responses as Json)) {
      if (['200', '304'].includes(described)) continue;
      // A key of the example's market does not expire.
      const codes = described === '401' ? [] : codesOf(operation, described);
      const labels = codes.length > 0 ? codes : [described];
      for (const label of labels.filter((one) => !FAILURES.includes(one))) {
        const provoked = await PROVOKING[label](operation, good);
        expect([id, label, String(provoked.status), provoked.body.error_code]).toEqual([
          id,
          label,
          described,
          codes.length > 0 ? label : undefined,
        ]);
        const value = cut(provoked.body);
        const code = codes.length > 0 ? label : LABELS[described];
        const known = Object.entries(examples).find(
          ([, one]) => withoutFigures(one.value) === withoutFigures(value),
        );
        const name = known?.[0] ?? (code in examples ? `${code}.${id}` : code);
        examples[name] ??= { value };
        (ofOperations[id][described] ??= {})[code] = name;
      }
    }
  }
  return { examples, ofOperations };
}
const LABELS: Readonly<Record<string, string>> = {
  401: 'no_key',
  403: 'lower_tier',
  429: 'rate_limit',
};

/** Figures differ with the time of day and the processor's arithmetic. */
const withoutFigures = (value: unknown) =>
  JSON.stringify(value, null, 1).replace(/-?\d+(\.\d+)?(e[+-]\d+)?/g, '0');

describe('examples', () => {
  it('of replies are what the demo market answers', async () => {
    const current = await askForExamples();
    if (process.env.WRITE_EXAMPLES !== undefined) {
      writeFileSync(FILE, `${JSON.stringify(current, null, 2)}\n`);
      return;
    }
    const again = 'update them with `npm run api-examples`';
    const kept = JSON.parse(readFileSync(FILE, 'utf8')) as typeof current;
    expect(kept.ofOperations, again).toEqual(current.ofOperations);
    expect(withoutFigures(kept.examples), again).toBe(withoutFigures(current.examples));
  });

  it('of parameters are answered', async () => {
    for (const operation of operations) {
      for (const { name, example, in: place } of operation.operation.parameters as Json[]) {
        const good = requestOf(operation);
        const request = place === 'path' ? good : withQuery(good, name as string, String(example));
        const { status, body } = await ask(operation, request);
        expect([lineOf(request), status, body.message]).toEqual([lineOf(request), 200, undefined]);
      }
    }
  });
});
