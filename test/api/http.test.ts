import zlib from 'node:zlib';
import { unpack } from 'msgpackr';
import { describe, expect, it } from 'vitest';
import { COMPRESS_ABOVE_BYTES } from '../../server/api/replies.js';
import { MAX_BODY_BYTES } from '../../server/api/routes.js';
import { checkedFetch } from '../support/conformance.js';
import { bodyOf, EVERY } from '../support/endpoints.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { rawReply } from '../support/raw-client.js';
import {
  ENTERPRISE_KEY,
  EVM_LEG,
  KEY,
  MINT,
  heldService,
  steadyStore,
} from '../support/service.js';

/** Enough levels for a body above the size from which replies are compressed. */
const DEPTH = `/market-depth?token_address=${MINT}&exchange_type=ALL&include_summary=true`;
/** A header of every reply that has more than one form. */
const VARY = 'Accept, Accept-Encoding';
/** A body below that size. */
const SCORE = `/score/${MINT}`;

const depth = new MemoryDepth().add('mainchain', MINT, steadyStore(5, 80), { asset: 'A' });
depth.add('evmchain', EVM_LEG, steadyStore(2, 1), { asset: 'A' });
const service = await heldService({ depth });

const raw = (path: string, headers: Record<string, string>) =>
  rawReply(`${service.server.url}/api/v1${path}`, { 'x-api-key': KEY, ...headers });

describe('replies', () => {
  it('are the same document in both media types', async () => {
    for (const path of [DEPTH, SCORE, '/top-scores']) {
      const json: unknown = await (await service.get(path)).json();
      const packed = await service.get(path, { headers: { accept: 'application/msgpack' } });
      expect(packed.headers.get('content-type')).toBe('application/msgpack');
      expect(unpack(Buffer.from(await packed.arrayBuffer()))).toEqual(json);
    }
  });

  it('are compressed only above a certain size', async () => {
    const plain = await raw(DEPTH, {});
    expect(plain.headers).not.toHaveProperty('content-encoding');
    expect(plain.body.length).toBeGreaterThan(COMPRESS_ABOVE_BYTES);
    const decoders = { gzip: zlib.gunzipSync, br: zlib.brotliDecompressSync };
    for (const [coding, decode] of Object.entries(decoders)) {
      // Twice: the second reply is kept from the first request.
      for (let time = 0; time < 2; time++) {
        const { headers, body } = await raw(DEPTH, { 'accept-encoding': coding });
        expect(headers).toMatchObject({ 'content-encoding': coding, vary: VARY });
        expect(body.length).toBeLessThan(plain.body.length / 2);
        expect(decode(body).equals(plain.body)).toBe(true);
      }
      const small = await raw(SCORE, { 'accept-encoding': coding });
      expect(small.headers).not.toHaveProperty('content-encoding');
      expect(small.headers.vary).toBe(VARY);
    }
    const forced = await raw(SCORE, { 'accept-encoding': 'gzip, identity;q=0' });
    expect(forced.headers['content-encoding']).toBe('gzip');
    expect(JSON.parse(zlib.gunzipSync(forced.body).toString())).toHaveProperty('address', MINT);
  });
});

describe('query parameters', () => {
  const depth = (query: string) => service.get(`/market-depth?token_address=${MINT}&${query}`);

  it.each([
    ['currency=BTC', 'currency'],
    ['chain=all&chain=all', 'chain'],
    ['%zz=1', '%zz'],
    ['&'.repeat(10) + 'x&'.repeat(300), 'query'],
    ['x=1&chain=nowhere', 'x'],
  ])('that are invalid are named: %s', async (query, parameter) => {
    const response = await depth(query);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error_code: 'invalid_parameter', parameter });
  });

  it.each(EVERY.map((endpoint) => [endpoint.operationId, endpoint] as const))(
    'that %s does not have are refused, whatever the method',
    async (_, endpoint) => {
      const { method, path, query, chain } = endpoint;
      const target = `${path.replace(':address', MINT)}?zzz=1&zzz=%zz`;
      const names = [
        ...(['none', 'batch', 'absent'].includes(chain.kind) ? [] : ['chain']),
        ...Object.keys(query.properties),
      ];
      const advice =
        names.length === 0
          ? 'this endpoint has no query parameters'
          : `this endpoint has no such parameter; it has ${names.join(', ')}`;
      const reply = await (method === 'GET'
        ? service.get(target)
        : service.post(target, bodyOf(endpoint)));
      expect(reply.status).toBe(400);
      expect(await reply.json()).toEqual({
        error: 'Bad Request',
        message: `zzz: ${advice}`,
        error_code: 'invalid_parameter',
        parameter: 'zzz',
      });
    },
  );

  it('that resemble one of the endpoint’s get it as a hint', async () => {
    const reply = await depth('exchange-type=ALL');
    expect(reply.status).toBe(400);
    expect(await reply.json()).toMatchObject({
      message: 'exchange-type: this endpoint has no such parameter; did you mean exchange_type?',
    });
  });
});

describe('bodies', () => {
  const post = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
    service.post('/score', null, { body, headers });
  const addresses = JSON.stringify({ addresses: [MINT] });

  it.each(['application/json', 'Application/JSON', 'application/json; charset="UTF-8"'])(
    'are taken as %s',
    async (type) => {
      expect((await post(addresses, { 'content-type': type })).status).toBe(200);
    },
  );

  it.each<Record<string, string>>([
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/json; charset=latin1' },
    { 'content-type': 'application/jsonp' },
    { 'content-type': 'application/x-www-form-urlencoded' },
    { 'content-encoding': 'gzip' },
  ])('are refused as %o', async (headers) => {
    const response = await post(addresses, headers);
    expect(response.status).toBe(415);
    expect(await response.json()).toMatchObject({ error_code: 'unsupported_media_type' });
  });

  it('without a type are refused', async () => {
    const init = { body: Buffer.from(addresses), headers: { 'x-api-key': ENTERPRISE_KEY } };
    const url = `${service.server.url}/api/v1/score`;
    const reply = await checkedFetch(url, { method: 'POST', ...init });
    expect(reply.status).toBe(415);
    expect(await reply.json()).toMatchObject({
      message: 'Content-Type: expected application/json, was not sent',
    });
  });

  it.each<[string, string | Uint8Array<ArrayBuffer>]>([
    ['body: expected a JSON document', ''],
    ['body: expected a JSON document', '{'],
    ['body: expected a JSON document', '{"addresses":[]}}'],
    ['body: expected a JSON document', "{'addresses':[]}"],
    ['body: expected UTF-8', new Uint8Array([0x22, 0xff, 0x22])],
    ['addresses[1]: expected a text; was 1', `{"addresses":["${MINT}",1]}`],
    ['body: expected a JSON document', '['.repeat(60_000)],
  ])('of the wrong shape: %s', async (message, body) => {
    const response = await post(body);
    expect(response.status).toBe(400);
    const error = (await response.json()) as Record<string, string>;
    expect(error.error_code).toBe('invalid_body');
    expect(error.message).toContain(message);
    expect(error.message).not.toMatch(/position|token|at /i);
  });

  it('up to the limit are read, longer ones are 413', async () => {
    const padded = (bytes: number) => addresses + ' '.repeat(bytes - addresses.length);
    expect((await post(padded(MAX_BODY_BYTES))).status).toBe(200);
    const response = await post(padded(MAX_BODY_BYTES + 1));
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ error_code: 'payload_too_large' });
  });

  it('may have unknown fields', async () => {
    const response = await post(`{"addresses":["${MINT}","x"],"limit":"no","__proto__":{"a":1}}`);
    expect(await response.json()).toMatchObject({ count: 1, invalid_addresses: ['x'] });
  });
});

describe('the order of checks', () => {
  const url = (path: string) => `${service.server.url}/api/v1${path}`;

  it('401 comes before an unknown endpoint', async () => {
    expect((await checkedFetch(url('/nowhere'))).status).toBe(401);
  });

  it('403 comes before the body is checked', async () => {
    const headers = { 'x-api-key': KEY, 'content-type': 'text/plain' };
    const response = await service.post('/score', 'nonsense', { headers });
    expect(response.status).toBe(403);
    expect(await response.json()).toEqual({ error: expect.any(String) as string });
  });

  it('an invalid chain comes before an invalid address, an invalid address before other parameters', async () => {
    const code = async (query: string) => {
      const response = await service.get(`/market-depth?${query}`);
      return ((await response.json()) as { error_code: string }).error_code;
    };
    expect(await code('token_address=x&chain=nowhere&delayed=maybe')).toBe('invalid_chain');
    expect(await code('token_address=x&delayed=maybe')).toBe('invalid_address');
    expect(await code(`token_address=${MINT}&delayed=maybe`)).toBe('invalid_parameter');
    expect(await code(`token_address=${EVM_LEG}&chain=mainchain&delayed=maybe`)).toBe(
      'chain_mismatch',
    );
  });
});
