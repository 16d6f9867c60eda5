import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RESPONSE_HEADER_NAMES } from '../../server/api/openapi.js';
import { withCors } from '../../server/http/cors.js';
import { loadEngine } from '../../server/http/load-engine.js';
import { type HttpServer, startHttpServer } from '../../server/http/server.js';
import { NO_LOGGER } from '../support/logger.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { MINT, NOW_S, heldService, limiterOf, steadyStore } from '../support/service.js';

const APP = 'https://app.example.com';
const OTHER = 'http://localhost:3000';
const STRANGER = 'https://evil.example';
const REQUESTS = 12;
const PREFLIGHT = {
  'access-control-request-method': 'GET',
  'access-control-request-headers': 'x-api-key',
};

const depth = new MemoryDepth().add('mainchain', MINT, steadyStore(5, 2));
const limiter = limiterOf(REQUESTS, 3600, 1000);
const service = await heldService({ depth, limiter, corsOrigins: [APP, OTHER] });

/** As a browser requests a page of `origin`. */
const ask = (path: string, origin: string, init: RequestInit = {}) =>
  service.get(path, {
    ...init,
    headers: { origin, ...(init.headers as Record<string, string>) },
  });
const preflight = (path: string, origin: string) =>
  fetch(`${service.server.url}/api/v1${path}`, {
    method: 'OPTIONS',
    headers: { origin, ...PREFLIGHT },
  });
const listOf = (value: string | null) => (value ?? '').toLowerCase().split(', ');

describe('with two origins', () => {
  it('a preflight needs no key and costs nothing', async () => {
    for (let i = 0; i < 2 * REQUESTS; i++) {
      const { status, headers } = await preflight(`/replay/${MINT}?from=-24h`, APP);
      expect(status).toBe(204);
      expect(headers.get('access-control-allow-origin')).toBe(APP);
      expect(headers.get('vary')).toBe('Origin');
      expect(listOf(headers.get('access-control-allow-methods'))).toEqual(['get', 'head', 'post']);
      expect(listOf(headers.get('access-control-allow-headers'))).toEqual(
        expect.arrayContaining(['x-api-key', 'content-type', 'if-none-match', 'last-event-id']),
      );
      expect(headers.get('x-quota-used')).toBeNull();
    }
    const { headers } = await ask(`/score/${MINT}`, APP);
    expect(headers.get('x-quota-used')).toBe('1');
    expect(headers.get('x-ratelimit-remaining')).toBe(String(REQUESTS - 1));
  });

  it('scripts may read every header of a reply', async () => {
    const settled = `/replay/${MINT}?from=-2d&to=${NOW_S - 60}`;
    const page = await ask(settled, OTHER);
    expect(page.status).toBe(200);
    expect(page.headers.get('access-control-allow-origin')).toBe(OTHER);
    expect(page.headers.get('vary')).toBe('Origin, Accept, Accept-Encoding');
    const exposed = listOf(page.headers.get('access-control-expose-headers'));
    expect(exposed).toEqual(RESPONSE_HEADER_NAMES.map((name) => name.toLowerCase()));
    const ofOurs = [...page.headers.keys()].filter((name) => /^(x-|ratelimit|etag)/.test(name));
    expect(ofOurs).toContain('etag');
    expect(ofOurs).toContain('x-ratelimit-remaining');
    expect(exposed).toEqual(expect.arrayContaining(ofOurs));
    const same = await ask(settled, OTHER, {
      headers: { 'if-none-match': page.headers.get('etag') ?? '' },
    });
    expect([same.status, same.headers.get('access-control-allow-origin')]).toEqual([304, OTHER]);
  });

  it('scripts of other origins may not, and are served as usual', async () => {
    for (const headers of [{ origin: STRANGER }, { origin: 'null' }, {}] as Record<
      string,
      string
    >[]) {
      const reply = await service.get(`/score/${MINT}`, { headers });
      expect(reply.status).toBe(200);
      expect(reply.headers.get('access-control-allow-origin')).toBeNull();
      expect(reply.headers.get('access-control-expose-headers')).toBeNull();
      expect(reply.headers.get('vary')).toMatch(/^Origin, /);
    }
    const refused = await preflight(`/score/${MINT}`, STRANGER);
    expect(refused.status).toBe(401);
    expect(refused.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('the documentation is only for its own origin', async () => {
    const { headers } = await fetch(`${service.server.url}/docs`, { headers: { origin: APP } });
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });

  it('errors are readable, too', async () => {
    const failures: [number, string, RequestInit?][] = [
      [400, `/score/${MINT}?x=1`],
      [401, `/score/${MINT}`, { headers: { 'x-api-key': 'nobody' } }],
      [403, '/score', { method: 'POST', body: '{}' }],
      [404, '/nowhere'],
      [405, `/score/${MINT}`, { method: 'DELETE' }],
    ];
    for (const [status, path, init] of failures) {
      const reply = await ask(path, APP, init);
      expect([path, reply.status]).toEqual([path, status]);
      expect(reply.headers.get('access-control-allow-origin')).toBe(APP);
    }
    let last = await ask(`/score/${MINT}`, APP);
    for (let i = 0; i < REQUESTS && last.status === 200; i++) {
      last = await ask(`/score/${MINT}`, APP);
    }
    expect(last.status).toBe(429);
    expect(last.headers.get('access-control-allow-origin')).toBe(APP);
    expect(listOf(last.headers.get('access-control-expose-headers'))).toContain('retry-after');
    expect(Number(last.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});

describe('with another setting', () => {
  let server: HttpServer;
  let origins: string[] = [];
  beforeAll(async () => {
    server = await startHttpServer({
      engine: await loadEngine('uws', NO_LOGGER),
      host: '127.0.0.1',
      port: 0,
      logger: NO_LOGGER,
      handle: (exchange) => {
        const handle = withCors((exchange) => exchange.replyJson(200, {}), {
          origins,
          exposedHeaders: ['ETag'],
        });
        handle(exchange);
      },
    });
  });
  afterAll(() => server.close());
  const load = (init: RequestInit) => fetch(`http://127.0.0.1:${server.port}/api/x`, init);

  it('* allows every origin, and replies depend on none', async () => {
    origins = ['*'];
    const reply = await load({ headers: { origin: STRANGER } });
    expect(reply.headers.get('access-control-allow-origin')).toBe('*');
    expect(reply.headers.get('access-control-expose-headers')).toBe('ETag');
    expect(reply.headers.get('vary')).toBeNull();
    const preflight = await load({
      method: 'OPTIONS',
      headers: { origin: STRANGER, ...PREFLIGHT },
    });
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([
      204,
      '*',
    ]);
    // OPTIONS alone is not a preflight.
    const options = await load({ method: 'OPTIONS', headers: { origin: STRANGER } });
    expect(options.status).toBe(200);
  });

  it('no origin adds nothing to any reply', async () => {
    origins = [];
    const plain = await load({ headers: { origin: APP } });
    const preflight = await load({ method: 'OPTIONS', headers: { origin: APP, ...PREFLIGHT } });
    for (const { status, headers } of [plain, preflight]) {
      expect(status).toBe(200);
      expect([...headers.keys()].filter((name) => /^access-control|^vary/.test(name))).toEqual([]);
    }
  });
});
