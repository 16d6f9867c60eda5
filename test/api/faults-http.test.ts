/** Faults of parameters and bodies over sockets, from the specification of every field: a new field needs no line here. */
import { describe, expect, it } from 'vitest';
import type { EndpointSpec } from '../../server/api/endpoint.js';
import { isRequired } from '../../server/api/query.js';
import type { Json } from '../support/conformance.js';
import { addressOf, bodyOf, EVERY, pathOf, type Schema } from '../support/endpoints.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { MINT, heldService, steadyStore } from '../support/service.js';

const NO_NUMBERS = ['x', 'NaN', 'Infinity', '1e999', '0x10', '%2B5', '.', '1e', 'e-3'];
const each = EVERY.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint] as const);
const gets = each.filter(([, { method }]) => method === 'GET');
const posts = each.filter(([, { method }]) => method === 'POST');

const depth = new MemoryDepth().add('mainchain', MINT, steadyStore(5, 2));
const service = await heldService({ depth });

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
      const parts = schema.type === 'integer' ? ['1.5', '5.', '1e1'] : [];
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

/** What the fault says each value of a parameter should be, whichever is sent. */
function expectedOf({ 'x-unit': unit, items, ...schema }: Schema): string {
  const { type, enum: words } = items ?? schema;
  if (words || (type !== 'number' && type !== 'integer')) return 'expected ';
  if (items !== undefined) return 'expected (at most|no empty item|a number)';
  if (unit === undefined) return `expected a${type === 'integer' ? ' whole' : ''} number`;
  return unit === 'fraction' ? 'expected a fraction .*\\(0.25 is 25%\\)' : 'expected a percentage';
}

const refused = async (path: string): Promise<Json> => {
  const reply = await service.get(path);
  expect([path, reply.status]).toEqual([path, 400]);
  return (await reply.json()) as Json;
};
const invalid = (parameter: string, message = `${parameter}: expected `) => ({
  error_code: 'invalid_parameter',
  message: expect.stringMatching(message) as string,
  parameter,
});

describe.each(gets.filter(([, { query }]) => Object.keys(query.properties).length > 0))(
  'bad parameters of %s',
  (_, endpoint) => {
    const addresses = [
      addressOf(endpoint)?.name,
      endpoint.chain.kind === 'list' ? endpoint.chain.scope : undefined,
    ];
    const properties = Object.entries(endpoint.query.properties) as [string, Schema][];

    it.each(properties)('%s is named, whatever is wrong with it', async (name, schema) => {
      // Faults of an address are described by the chain rules.
      const values = addresses.includes(name) ? [] : badValues(schema);
      const isOwn = addressOf(endpoint)?.name === name;
      const pathWith = (query: string) =>
        isOwn ? `${endpoint.path}?${query}` : pathOf(endpoint, query);
      for (const value of ['', '%zz', '%ff', '%E2%82']) {
        expect(await refused(pathWith(`${name}=${value}`))).toMatchObject(invalid(name));
      }
      for (const value of values) {
        const refusal = invalid(name, `^${name}: ${expectedOf(schema)}`);
        expect(await refused(pathWith(`${name}=${value}`))).toMatchObject(refusal);
      }
      expect(await refused(pathWith(name))).toMatchObject(invalid(name));
      const { maxItems } = schema;
      const once = maxItems === undefined ? '' : ' its items separated by commas,';
      const twice = invalid(name, `^${name}: expected once,${once} was sent 2 times$`);
      expect(await refused(pathWith(`${name}=1&&${name}=1`))).toMatchObject(twice);
      if (maxItems === undefined) return;
      const many = `${name}: expected at most ${maxItems} items, ${maxItems + 1} were sent`;
      expect(await refused(pathWith(`${name}=${values.at(-1)}`))).toMatchObject({ message: many });
    });

    it('that are missing are named', async () => {
      for (const [name, schema] of Object.entries(endpoint.query.properties)) {
        if (!isRequired(schema)) continue;
        expect(schema).not.toHaveProperty('default');
        const path = endpoint.path.replace(':address', MINT);
        const missing = `^${name}: expected an? (value|address), was not sent$`;
        expect(await refused(path)).toMatchObject(invalid(name, missing));
      }
    });
  },
);

describe('parameters that go together', () => {
  const having = (name: string) => gets.filter(([, { query }]) => name in query.properties);
  const both = (endpoint: EndpointSpec, pairs: Record<string, string | number>) =>
    pathOf(endpoint, new URLSearchParams(pairs as Record<string, string>).toString());

  const ranges = gets.flatMap(([path, endpoint]) =>
    Object.keys(endpoint.query.properties)
      .filter((name) => /^(min|low)_/.test(name))
      .map((low) => [path, low, endpoint] as const),
  );
  it.each(ranges)('%s: %s is not above the other end', async (_, low, endpoint) => {
    const high = low.replace(/^min/, 'max').replace(/^low/, 'high');
    const path = both(endpoint, { [low]: 2, [high]: 1 });
    const refusal = low.startsWith('low') ? `a fraction of at most ${high}` : '';
    expect(await refused(path)).toMatchObject(invalid(low, `^${low}: expected ${refusal}`));
    // A page cannot have an empty band; a single value is a range.
    const isBand = low === 'min_pct';
    const { status } = await service.get(both(endpoint, { [low]: 2, [high]: 2 }));
    expect(status).toBe(isBand ? 400 : 200);
  });

  it.each(having('from'))('%s: a window begins before it ends', async (_, endpoint) => {
    const path = both(endpoint, { from: 'now', to: '-1h' });
    expect(await refused(path)).toMatchObject(invalid('from'));
  });

  const ofTimes = gets.filter(([, { errors }]) => errors.includes('window_out_of_range'));
  it.each(ofTimes)('%s: a time is within the last 365 days', async (_, endpoint) => {
    const name = 'at' in endpoint.query.properties ? 'at' : 'to';
    expect(await refused(pathOf(endpoint, `${name}=-366d`))).toMatchObject({
      error_code: 'window_out_of_range',
      message: expect.stringMatching(`^${name}: expected a time within the last 365`) as string,
    });
  });

  it.each(having('markets'))('%s: group and markets mean the same', async (_, endpoint) => {
    const { error_code } = await refused(both(endpoint, { group: 'all', markets: 'split' }));
    expect(error_code).toBe('invalid_group');
  });

  it.each(having('exclude_types'))('%s: what is chosen is not excluded', async (_, endpoint) => {
    for (const [pairs, name] of [
      [{ types: 'cex_spot', exclude_types: 'cex_perp' }, 'exclude_types'],
      [{ onchain: 'true', exclude_types: 'cex_spot' }, 'exclude_types'],
      [{ onchain: 'true', types: 'cex_spot' }, 'onchain'],
      [{ venues: 'a', exclude_venues: 'b' }, 'exclude_venues'],
    ] as const) {
      expect(await refused(both(endpoint, pairs))).toMatchObject(invalid(name, `^${name}: `));
    }
  });
});

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
  const refusedBody = async (document: unknown): Promise<string> => {
    const reply = await service.post(endpoint.path, document);
    const body = (await reply.json()) as Json;
    expect([document, reply.status, body.error_code]).toEqual([document, 400, 'invalid_body']);
    return body.message as string;
  };

  it('that are not an object', async () => {
    for (const [document, was] of [
      [null, 'null'],
      [[], 'a list'],
      [7, '7'],
      ['x', "'x'"],
    ] as const) {
      expect(await refusedBody(document)).toBe(`body: expected an object; was ${was}`);
    }
  });

  it.each(Object.entries(schema.properties ?? {}))('name the field %s', async (name, field) => {
    const right = bodyOf(endpoint) as Json;
    for (const value of badFields(field)) {
      expect(await refusedBody({ ...right, [name]: value })).toMatch(
        new RegExp(`^${name}(\\[0\\])?: expected `),
      );
    }
    if (schema.required?.includes(name)) {
      const rest = Object.fromEntries(Object.entries(right).filter(([field]) => field !== name));
      expect(await refusedBody(rest)).toBe(`${name}: expected a value, was not sent`);
    }
  });

  it('name a chain that is not a text', async () => {
    for (const chain of [null, 1]) {
      expect(await refusedBody({ ...bodyOf(endpoint), chain })).toBe(
        `chain: expected a text; was ${chain}`,
      );
    }
  });
});
