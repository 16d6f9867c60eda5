/** docs/deploy's proxies, where they are installed, in front of a service: what they pass on is what it says. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Limiter } from '../../server/limits/limiter.js';
import { parsePlans } from '../../server/limits/plans.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { MemoryUsage } from '../support/memory-sources.js';
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
/** Between the sizes of the page as gzip or brotli and as plain text: that one gets 503. */
const MAX_BYTES_PER_KEY = 1_000_000;
/** Headers of one connection or one moment. */
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

/** Sends one request and gives the reply as it came, not decoded. */
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

const isInstalled = (program: string): boolean => {
  try {
    execFileSync(program, ['-v'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

const folder = mkdtempSync(path.join(tmpdir(), 'fathom-proxy-'));
let service: TestService;
let isReady = true;

/** The sample with this machine's ports, certificate and folder. */
function sample(name: string, port: number): string {
  return readFileSync(path.join('docs/deploy', name), 'utf8')
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${service.server.port}`)
    .replace('inter 2s', 'inter 100ms')
    .replaceAll('port 8081', `port ${service.server.port}`)
    .replace(/(listen|bind :)( ?)443/, `$1$2${port}`)
    .replaceAll('/etc/ssl/fathom', folder);
}

const PROXIES = {
  nginx(port: number): string[] {
    writeFileSync(path.join(folder, 'fathom.conf'), sample('nginx.conf', port));
    const main = `daemon off; pid ${folder}/pid; error_log stderr; events {}
      http { access_log off; proxy_temp_path ${folder}; client_body_temp_path ${folder};
        include ${folder}/fathom.conf; }`;
    writeFileSync(path.join(folder, 'nginx.conf'), main);
    return ['-c', path.join(folder, 'nginx.conf')];
  },
  haproxy(port: number): string[] {
    writeFileSync(path.join(folder, 'haproxy.cfg'), sample('haproxy.cfg', port));
    return ['-db', '-f', path.join(folder, 'haproxy.cfg')];
  },
};
const PROGRAMS = Object.keys(PROXIES) as (keyof typeof PROXIES)[];
const INSTALLED = PROGRAMS.filter(isInstalled);

beforeAll(async () => {
  if (INSTALLED.length === 0) return;
  const depth = new MemoryDepth();
  depth.add('mainchain', MINT, steadyStore(300, 34));
  const plans = parsePlans(
    JSON.stringify({
      premium: { monthly_quota: 'unlimited', rates: { general: { requests: 'unlimited' } } },
      enterprise: { rates: { general: { requests: 1, seconds: 3600 } } },
    }),
    'plans',
  );
  service = await startTestService({
    depth,
    isReady: () => isReady,
    limits: { maxBytesInFlightPerKey: MAX_BYTES_PER_KEY },
    limiter: new Limiter({ usage: new MemoryUsage(), plans }),
  });
  const certificate = ['-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=localhost', '-days', '1'];
  const files = ['-keyout', `${folder}/privkey.pem`, '-out', `${folder}/fullchain.pem`];
  execFileSync('openssl', ['req', '-x509', ...certificate, ...files], { stdio: 'ignore' });
  const both = ['fullchain', 'privkey'].map((name) => readFileSync(`${folder}/${name}.pem`));
  writeFileSync(`${folder}/fathom.pem`, Buffer.concat(both));
});
afterAll(async () => {
  await (service as TestService | undefined)?.stop();
  rmSync(folder, { recursive: true });
});

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

for (const program of PROGRAMS) {
  describe.runIf(INSTALLED.includes(program))(program, () => {
    let proxy: ChildProcess;
    let url: string;
    let said = '';

    async function until(status: number): Promise<Reply> {
      let reply: Reply | null = null;
      await eventually(`the proxy answers ${status}`, async () => {
        if (proxy.exitCode !== null) throw new Error(said);
        reply = await ask(url, { path: '/' }).catch(() => null);
        return reply?.status === status;
      });
      return reply!;
    }

    beforeAll(async () => {
      // A plan of its own: one request is all it has.
      service.keys.add(program, 'enterprise');
      const port = await freePort();
      url = `https://127.0.0.1:${port}`;
      proxy = spawn(program, PROXIES[program](port), { stdio: ['ignore', 'ignore', 'pipe'] });
      proxy.stderr?.on('data', (chunk) => (said += chunk));
      await until(200);
    });
    afterAll(async () => {
      if (proxy.exitCode !== null) return;
      const ended = new Promise((resolve) => proxy.once('exit', resolve));
      proxy.kill('SIGTERM');
      await ended;
    });

    it('passes on pages in every encoding, HEAD, 304, POST and refusals as they are', async () => {
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
        [503, { path: PAGE }],
        [200, { path: `/api/v1/score/${MINT}` }],
        [401, { path: `/api/v1/score/${MINT}`, headers: { 'x-api-key': 'wrong' } }],
        [400, { path: `${PAGE}&group=x` }],
        [404, { path: '/nowhere' }],
        [405, { path: PAGE, method: 'DELETE' }],
      ];
      const agent = new https.Agent({ keepAlive: true });
      for (const [status, asked] of asks) {
        const direct = await ask(service.server.url, asked);
        expect([direct.status, asked]).toEqual([status, asked]);
        expect(await ask(url, asked, agent)).toEqual(direct);
      }
      const body = JSON.stringify({ addresses: [MINT] });
      expect((await ask(url, { ...post, body }, agent)).status).toBe(200);
      const limited = await ask(url, { ...post, body }, agent);
      expect([limited.status, Number(limited.headers['retry-after']) > 0]).toEqual([429, true]);
      agent.destroy();
    });

    it.runIf(program === 'haproxy')('says by itself that the service is not ready', async () => {
      isReady = false;
      const reply = await until(503);
      expect(reply.headers).toMatchObject({
        'retry-after': '2',
        'content-type': 'application/json',
      });
      isReady = true;
      await until(200);
    });

    it.each(['/metrics', '/healthz', '/readyz'])('keeps %s to itself', async (path) => {
      expect((await ask(url, { path })).status).toBe(404);
    });
  });
}
