import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { takeNamedSchemas } from '../../server/api/schemas.js';
import { document, text } from '../../server/api/schemas.js';
import { ENDPOINTS } from '../../server/endpoints.js';
import { checkReply, type Json } from '../support/conformance.js';
import { RawClient } from '../support/raw-client.js';
import { heldService } from '../support/service.js';
import { documentNamed } from '../docs/documents.js';

// No key: the description is public. Shared replies use none of the memory for replies.
const service = await heldService({
  limits: { maxKeylessBytesInFlight: 0 },
  isReady: () => true,
});
const served = await fetch(`${service.server.url}/api/v1/openapi.json`);
const description = (await served.json()) as Json;

async function lint(document: Json) {
  const config = await createConfig({ extends: ['recommended-strict'] });
  const problems = await lintFromString({ source: JSON.stringify(document), config });
  return problems.map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer}`);
}

/** Calls `visit` with every schema of the description and its path. */
function everySchema(value: unknown, visit: (schema: Json, at: string) => void, at = ''): void {
  if (typeof value !== 'object' || value === null) return;
  const node = value as Json;
  if (typeof node.type === 'string' || node.anyOf || node.enum) visit(node, at);
  for (const [key, inner] of Object.entries(node)) everySchema(inner, visit, `${at}/${key}`);
}

describe('GET /api/v1/openapi.json', () => {
  it('describes version 1.5.0 in OpenAPI 3.1', () => {
    expect(description).toMatchObject({ openapi: '3.1.0', info: { version: '1.5.0' } });
    expect(description.servers[0].url).toBe('/api/v1');
    expect(description.components.securitySchemes).toEqual({
      apiKey: expect.objectContaining({
        type: 'apiKey',
        in: 'header',
        name: 'x-api-key',
      }) as object,
    });
  });

  it('has every endpoint of the table and no other', () => {
    const described = Object.entries<Json>(description.paths).flatMap(([path, item]) =>
      Object.entries<Json>(item).map(
        ([method, { operationId }]) => `${method.toUpperCase()} ${path} ${operationId}`,
      ),
    );
    const served = Object.values(ENDPOINTS).map(
      ({ method, path, operationId }) =>
        `${method} ${path.replace(/:(\w+)/, '{$1}')} ${operationId}`,
    );
    expect(described.sort()).toEqual(served.sort());
  });

  it('passes a public linter, which does find faults', async () => {
    expect(await lint(description)).toEqual([]);
    const broken = structuredClone(description);
    delete broken.paths['/score'].post.operationId;
    broken.paths['/score'].post.responses[400].content['application/json'].schema = {
      $ref: '#/components/schemas/Nowhere',
    };
    delete broken.components.examples.getUsage.value.month;
    broken.paths['/usage'].get.responses[429].content['application/json'].examples = {
      other: { value: { error_code: 'other' } },
    };
    const faults = (await lint(broken)).join('\n');
    expect(faults).toContain('operation-operationId');
    expect(faults).toContain('no-unresolved-refs');
    expect(faults).toContain('no-invalid-media-type-examples #/components/examples/getUsage');
    expect(faults).toMatch(/no-invalid-media-type-examples #.paths.~1usage.+429/);
  });

  it('has schemas that allow future fields and require the present ones', () => {
    const optional: string[] = [];
    everySchema({ ...description, paths: onlyResponses(description) }, (schema, at) => {
      if (schema.type !== 'object' || at.includes('Request')) return;
      expect(schema, at).not.toHaveProperty('additionalProperties');
      const required: string[] = schema.required ?? [];
      for (const name of Object.keys(schema.properties as Json)) {
        if (!required.includes(name) && !at.includes('msgpack')) optional.push(name);
      }
    });
    expect([...new Set(optional)].sort()).toEqual([
      'activity',
      'depth_2pct_usd',
      'error_code',
      'explain',
      'facets',
      'fees',
      'feesPerAvgTvl',
      'group_idx',
      'groups',
      'hint',
      'market_idx',
      'name',
      'rangeYield',
      'resistance_usd',
      'resolved_token',
      'score',
      'score_24h_ago',
      'scores_24h',
      'sparkline',
      'stale',
      'summary',
      'support_usd',
      'venues_not_found',
      'wallets',
    ]);
  });

  it('compiles in a strict validator', () => {
    const ajv = new Ajv2020({ strict: true, validateFormats: false });
    const named = Object.entries<Json>(description.components.schemas).map(
      ([name, schema]) =>
        [name, JSON.stringify(schema).replaceAll('#/components/schemas/', '')] as const,
    );
    for (const [name, text] of named) ajv.addSchema(JSON.parse(text) as Json, name);
    for (const [name] of named) expect(ajv.getSchema(name)).toBeTypeOf('function');
  });

  it('has a name for every object, for generated types', () => {
    const nameless: string[] = [];
    everySchema(description.paths, (schema, at) => {
      if (schema.type === 'object') nameless.push(at);
    });
    const { schemas } = description.components as Json;
    for (const [name, schema] of Object.entries<Json>(schemas as Json)) {
      expect(name).toMatch(/^[A-Z][A-Za-z]+$/);
      everySchema(schema.properties, (inner, at) => {
        if (inner.type === 'object') nameless.push(name + at);
      });
    }
    expect(nameless).toEqual([]);
    const replies = Object.values<Json>(description.paths).flatMap((item) =>
      Object.values<Json>(item).map(
        ({ operationId, responses }) =>
          `${operationId} ${responses[200].content['application/json'].schema.$ref.split('/').at(-1)}`,
      ),
    );
    expect(replies).toEqual([
      'getScore Score',
      'postScore ScoreBatch',
      'getTopScores TopScores',
      'getMarketDepth MarketDepth',
      'getSlippage Slippage',
      'getDcaPressure DcaPressure',
      'getDcaOrders DcaOrders',
      'getLimitOrders LimitOrders',
      'getWhaleActivity WhaleActivity',
      'postWhaleActivity WhaleActivityBatch',
      'getDlmm DlmmPools',
      'getDlmmPools DlmmPoolBoard',
      'getLpCheatSheet LpCheatSheet',
      'getReplay ReplayPage',
      'getReplayPlan ReplayPlan',
      'getDepthSeries DepthSeries',
      'getCoverage Coverage',
      'getTokens Tokens',
      'getUsage Usage',
    ]);
  });

  it('refuses two different schemas with the same name', () => {
    const [one, other] = [text('one'), text('other')];
    const pair = (a: object, b: object) => ({
      a: document('Thing', { a }),
      b: document('Thing', { a: b }),
    });
    expect(takeNamedSchemas(pair(one, one))).toEqual({
      value: {
        a: { $ref: '#/components/schemas/Thing' },
        b: { $ref: '#/components/schemas/Thing' },
      },
      schemas: { Thing: expect.objectContaining({ type: 'object' }) as object },
    });
    expect(() => takeNamedSchemas(pair(one, other))).toThrow('Thing');
  });

  it('marks what is deprecated and what may be null', () => {
    const replay = description.paths['/replay/{address}'].get as Json;
    const deprecated = (replay.parameters as Json[]).filter((parameter) => parameter.deprecated);
    expect(deprecated.map(({ name }) => name as string)).toEqual(['markets']);
    const score = description.paths['/score/{address}'].get as Json;
    expect(score.responses[200].content['application/json'].schema).toEqual({
      $ref: '#/components/schemas/Score',
    });
    const { symbol, status } = description.components.schemas.Score.properties;
    expect(symbol.anyOf).toContainEqual({ type: 'null' });
    expect(status.type).toBe('string');
  });

  it('describes every operation, with examples of every parameter, body and reply', () => {
    const missing: string[] = [];
    const operations = Object.values<Json>(description.paths).flatMap((item) =>
      Object.values<Json>(item),
    );
    for (const operation of operations) {
      const { operationId: id } = operation as { operationId: string };
      if (!(operation.summary && operation.description)) missing.push(id);
      for (const { name, description: text, example } of operation.parameters as Json[]) {
        if (!text || example === undefined) missing.push(`${id} ${name}`);
      }
      const body = operation.requestBody?.content['application/json'] as Json | undefined;
      if (body !== undefined && body.example === undefined) missing.push(`${id} body`);
      for (const [status, { content = {} }] of Object.entries<Json>(operation.responses)) {
        for (const [type, { schema, examples }] of Object.entries<Json>(content)) {
          const isBinary = Object.keys(schema as Json).length === 0;
          if (!isBinary && examples === undefined) missing.push(`${id} ${status} ${type}`);
        }
      }
    }
    expect(missing).toEqual([]);
    expect(readFileSync('server/api/generated/examples.json', 'utf8').length).toBeLessThan(100_000);
  });

  it('states which errors and headers to expect', () => {
    const batch = description.paths['/score'].post as Json;
    expect(Object.keys(batch.responses as Json).sort()).toEqual(
      ['200', '400', '401', '403', '406', '413', '415', '429', '500', '503'].sort(),
    );
    expect(batch.responses[200].headers).toHaveProperty('X-Quota-Used');
    expect(batch.responses[401].headers).not.toHaveProperty('X-Quota-Used');
    const names = JSON.stringify(batch.responses[400]);
    expect(names).toContain('BatchChainMismatchError');
  });
});

describe('the check of replies', () => {
  const reply = (body: unknown, status = 200, headers = {}) =>
    new Response(JSON.stringify(body), {
      status,
      headers: {
        'content-type': 'application/json',
        'x-request-id': 'x',
        'cache-control': 'no-store',
        ...headers,
      },
    });
  const url = 'http://test/api/v1/top-scores';
  const good = { chain: 'all', count: 0, stale_count: 0, tokens: [] };
  const refused = { error: 'Not Acceptable', message: 'no', error_code: 'not_acceptable' };

  it('passes what the description allows', async () => {
    const vary = { vary: 'Accept, Accept-Encoding' };
    await checkReply('GET', url, reply(refused, 406, vary));
    await checkReply('GET', url, reply(good));
    await checkReply('GET', url, reply({ error: 'no' }, 401));
  });

  it.each([
    ['a missing field', reply({ chain: 'all', count: 0, stale_count: 0 })],
    ['an unknown field', reply({ ...good, more: 1 })],
    ['a bad value', reply({ ...good, chain: 'everywhere' })],
    ['a status that is not described', reply(good, 418)],
    ['a data time that is not described', reply(good, 200, { 'x-data-time': '1' })],
    ['a media type that is not described', reply(good, 200, { 'content-type': 'text/html' })],
    ['an error with a field too many', reply({ error: 'no', message: 'no' }, 401)],
    [
      'an error that a cache may store',
      reply({ error: 'no' }, 401, { 'cache-control': 'private' }),
    ],
    ['a 406 without Vary', reply(refused, 406)],
  ])('refuses %s', async (_, response) => {
    await expect(checkReply('GET', url, response)).rejects.toThrow('/api/v1/top-scores');
  });
});

it('names the version', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  const { description: words, version: ofApi } = description.info as Json;
  expect(words).toContain(`this is Fathom ${version}`);
  expect(words).toContain('unless the server runs with `--lenient-para');
  expect(words).toContain(`This is version ${ofApi} of the API`);
});

describe('a proxy', () => {
  /** The status line of the reply to a request as sent. */
  async function statusLine(request: string): Promise<string> {
    const client = await RawClient.connect(service.server.port);
    client.send(request);
    const [line] = (await client.until('\r\n\r\n')).split('\r\n');
    client.socket.destroy();
    return line;
  }
  const haproxyConfig = readFileSync('docs/deploy/haproxy.cfg', 'utf8');
  const nginxConfig = readFileSync('docs/deploy/nginx.conf', 'utf8');
  const caddyConfig = documentNamed('docs/operating.md').blocks.find(
    ({ info }) => info === 'caddy',
  );

  it('gets 505 if it speaks HTTP/1.0, the default of HAProxy and nginx', async () => {
    const haproxy = 'OPTIONS / HTTP/1.0\r\n\r\n';
    const nginx = 'GET / HTTP/1.0\r\nHost: fathom\r\nConnection: close\r\n\r\n';
    for (const request of [haproxy, nginx]) {
      expect(await statusLine(request)).toBe('HTTP/1.1 505 HTTP Version Not Supported');
    }
  });

  it('gets 200 if it is configured as documented', async () => {
    const check = /http-check send meth (\w+) uri (\S+) ver (\S+) hdr (\S+) (\S+)/.exec(
      haproxyConfig,
    );
    const [method, path, version, name, value] = check?.slice(1) ?? [];
    const lines = [`${method} ${path} ${version}`, `${name}: ${value}`, 'Connection: close'];
    expect(await statusLine(`${lines.join('\r\n')}\r\n\r\n`)).toBe('HTTP/1.1 200 OK');
    expect(/http-check expect status (\d+)/.exec(haproxyConfig)?.[1]).toBe('200');

    const nginx = /proxy_http_version (\S+);/.exec(nginxConfig)?.[1];
    expect(await statusLine(`GET / HTTP/${nginx}\r\nHost: fathom\r\n\r\n`)).toBe('HTTP/1.1 200 OK');
    const caddy = /health_uri (\S+)/.exec(caddyConfig?.text ?? '')?.[1];
    const checked = await fetch(`${service.server.url}${caddy}`);
    expect([checked.status, checked.headers.get('x-quota-used')]).toEqual([200, null]);
  });
});

describe('files of the reference', () => {
  const load = (target: string, init?: RequestInit) =>
    fetch(`${service.server.url}${target}`, init);

  it('are the same whether compressed or not, and there are no others', async () => {
    const page = await (await load('/docs/api-reference')).text();
    const [file] = /\/docs\/swagger-ui-[\w-]+\.css/.exec(page) ?? [''];
    const plain = await load(file, { headers: { 'accept-encoding': 'identity' } });
    const gzip = await load(file, { headers: { 'accept-encoding': 'gzip' } });
    const brotli = await load(file, { headers: { 'accept-encoding': 'gzip, br' } });
    const loaded = [plain, gzip, brotli];
    const codings = loaded.map(({ headers }) => headers.get('content-encoding'));
    expect(codings).toEqual([null, 'gzip', 'br']);
    const texts = await Promise.all(loaded.map((one) => one.text()));
    expect(new Set(texts).size).toBe(1);
    for (const other of ['/docs/', '/docs/package.json', '/docs/..%2fpackage.json']) {
      expect([other, (await load(other)).status]).toEqual([other, 404]);
    }
  });
});

/** Responses and error schemas; requests may be described more loosely. */
function onlyResponses({ paths, components }: Json): Json {
  const responses = Object.values<Json>(paths).flatMap((item) =>
    Object.values<Json>(item).map((operation) => operation.responses as Json),
  );
  return { responses, schemas: components.schemas as Json };
}
