/** docs/deploy's proxies, if installed, in front of a service: they pass on its replies unchanged. */
import { createHash } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../bench/programs.js';
import { Limiter } from '../../server/limits/limiter.js';
import { parsePlans } from '../../server/limits/plans.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { MemoryUsage } from '../support/memory-sources.js';
import { serve } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { INSTALLED_PROXIES, type Proxy, PROXY_NAMES, startProxy } from '../support/proxies.js';
import {
  KEY,
  MINT,
  NOW_S,
  startTestService,
  steadyStore,
  type TestService,
} from '../support/service.js';
import { eventually } from '../support/waiting.js';

const PAGE = `/api/v1/replay/${MINT}?to=${NOW_S - 1800}`;
/** Between the sizes of the page as gzip or brotli and as plain text, which is refused. */
const MAX_BYTES_PER_KEY = 1_000_000;
/** Headers of a single connection or moment. */
const OWN_HEADERS =
  /^(connection|keep-alive|server|date|x-request-id|x-ratelimit-.*|ratelimit.*|x-quota-.*)$/;

interface Reply {
  status: number;
  headers: Record<string, unknown>;
  /** Its bytes' digest. */
  body: string;
}

interface Ask {
  path: string;
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** Sends one request and returns the reply undecoded. */
function ask(url: string, { path, method = 'GET', headers = {}, body }: Ask, agent?: http.Agent) {
  return new Promise<Reply>((resolve, reject) => {
    const { request } = url.startsWith('https') ? https : http;
    const options = { method, agent, rejectUnauthorized: false };
    const sent = request(new URL(path, url), {
      ...options,
      headers: { 'x-api-key': KEY, ...headers },
    });
    sent.on('error', reject);
    sent.on('response', (reply) => {
      const digest = createHash('sha256');
      reply.on('data', (chunk: Buffer) => digest.update(chunk));
      reply.on('error', reject);
      reply.on('end', () => {
        const kept = Object.entries(reply.headers).filter(([name]) => !OWN_HEADERS.test(name));
        const { statusCode: status = 0 } = reply;
        resolve({ status, headers: Object.fromEntries(kept), body: digest.digest('hex') });
      });
    });
    sent.end(body);
  });
}

let service: TestService;

beforeAll(async () => {
  if (INSTALLED_PROXIES.length === 0) return;
  const depth = new MemoryDepth().add('mainchain', MINT, steadyStore(300, 34));
  const plans = parsePlans(
    JSON.stringify({
      premium: { monthly_quota: 'unlimited', rates: { general: { requests: 'unlimited' } } },
      enterprise: { rates: { general: { requests: 1, seconds: 3600 } } },
    }),
    'plans',
  );
  service = await startTestService({
    depth,
    isReady: () => true,
    limits: { maxBytesInFlightPerKey: MAX_BYTES_PER_KEY },
    limiter: new Limiter({ usage: new MemoryUsage(), plans }),
  });
});
afterAll(async () => {
  await (service as TestService | undefined)?.stop();
});

for (const program of PROXY_NAMES) {
  describe.runIf(INSTALLED_PROXIES.includes(program))(program, () => {
    let proxy: Proxy;
    let url: string;

    async function until(status: number, of = proxy): Promise<Reply> {
      let reply: Reply | null = null;
      await eventually(`the proxy answers ${status}`, async () => {
        of.check();
        reply = await ask(of.url, { path: '/' }).catch(() => null);
        return reply?.status === status;
      });
      return reply!;
    }

    beforeAll(async () => {
      // With a separate plan that allows a single request.
      service.keys.add(program, 'enterprise');
      proxy = await startProxy(program, service.server.port);
      ({ url } = proxy);
      await until(200);
    });
    afterAll(() => proxy.stop());

    it('passes on pages in every encoding, HEAD, 304, POST and refusals unchanged', async () => {
      const gzip = { 'accept-encoding': 'gzip' };
      const { headers } = await ask(service.server.url, { path: PAGE, headers: gzip });
      const json = { 'content-type': 'application/json', 'x-api-key': program };
      const post: Ask = { path: '/api/v1/score', method: 'POST', headers: json };
      const asks: [number, Ask][] = [
        [200, { path: PAGE, headers: gzip }],
        [200, { path: PAGE, headers: { 'accept-encoding': 'br' } }],
        [200, { path: PAGE, headers: { ...gzip, accept: 'application/vnd.apache.arrow.stream' } }],
        [200, { path: PAGE, method: 'HEAD', headers: gzip }],
        [304, { path: PAGE, headers: { ...gzip, 'if-none-match': String(headers.etag) } }],
        [400, { path: PAGE }],
        [200, { path: `/api/v1/score/${MINT}` }],
        [401, { path: `/api/v1/score/${MINT}`, headers: { 'x-api-key': 'wrong' } }],
        [400, { path: `${PAGE}&group=x` }],
        [404, { path: '/nowhere' }],
        [405, { path: PAGE, method: 'DELETE' }],
      ];
      const agent = new https.Agent({ keepAlive: true });
      for (const [status, probe] of asks) {
        const direct = await ask(service.server.url, probe);
        expect([direct.status, probe]).toEqual([status, probe]);
        expect(await ask(url, probe, agent)).toEqual(direct);
      }
      const body = JSON.stringify({ addresses: [MINT] });
      expect((await ask(url, { ...post, body }, agent)).status).toBe(200);
      const limited = await ask(url, { ...post, body }, agent);
      expect([limited.status, Number(limited.headers['retry-after']) > 0]).toEqual([429, true]);
      agent.destroy();
    });

    it.runIf(program === 'haproxy')(
      'itself says that no service runs, until one does',
      async () => {
        const [port] = await freePorts(1);
        const alone = await startProxy(program, port);
        try {
          const reply = await until(503, alone);
          expect(reply.headers).toMatchObject({
            'retry-after': '2',
            'content-type': 'application/json',
          });
          const server = await serve(temporaryDirectory(), [
            '--port',
            String(port),
            '--threads',
            '1',
          ]);
          await until(200, alone).finally(() => server.stop());
        } finally {
          await alone.stop();
        }
      },
    );

    it.each(['/metrics', '/healthz', '/readyz'])('does not expose %s', async (path) => {
      expect((await ask(url, { path })).status).toBe(404);
    });
  });
}
