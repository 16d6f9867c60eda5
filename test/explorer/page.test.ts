import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { explorerRoutes } from '../../server/api/explorer.js';
import type { ApiError } from '../../server/http/errors.js';
import type { Exchange } from '../../server/http/exchange.js';
import { createRouter } from '../../server/http/router.js';
import { NO_LOG } from '../support/log.js';
import { startTestService, type TestService } from '../support/service.js';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

const load = (target: string, init?: RequestInit) => fetch(`${service.server.url}${target}`, init);

describe('GET /', () => {
  it('is a page that may load files of this server alone and runs nothing that stands in it', async () => {
    const { status, headers } = await load('/');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('content-security-policy')?.split('; ')).toEqual([
      "default-src 'none'",
      ...['script', 'style', 'img', 'font', 'worker', 'connect'].map((one) => `${one}-src 'self'`),
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ]);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cache-control')).toBe('no-cache');
  });

  it('names files that are there, and says without JavaScript where the API is described', async () => {
    const html = await (await load('/')).text();
    expect(html).not.toMatch(/https?:|<style|<script(?![^>]* src=)| style=| on\w+=/);
    const noscript = /<noscript>([^]*)<\/noscript>/.exec(html)?.[1] ?? '';
    expect(noscript).toContain('href="/docs"');
    expect(noscript).toContain('href="/api/v1/openapi.json"');
    const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => file);
    expect(files.length).toBeGreaterThan(4);
    for (const file of files) expect([file, (await load(file)).status]).toEqual([file, 200]);
  });

  it('answers HEAD, and 304 where the page is known', async () => {
    const head = await load('/', { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    const etag = head.headers.get('etag') ?? '';
    expect(etag).toMatch(/^".+"$/);
    for (const known of [etag, `"other", W/${etag}`]) {
      const again = await load('/', { headers: { 'if-none-match': known } });
      expect([again.status, await again.text()]).toEqual([304, '']);
      expect(again.headers.get('content-security-policy')).not.toBeNull();
    }
    const changed = await load('/', { headers: { 'if-none-match': '"other"' } });
    expect(changed.status).toBe(200);
  });
});

it('says what to run where the explorer is not built', () => {
  const routes = createRouter(explorerRoutes('/nowhere'), NO_LOG);
  const replies: unknown[] = [];
  const replyError = (error: ApiError) => replies.push([error.status, error.body]);
  routes({ method: 'GET', path: '/', replyError } as unknown as Exchange);
  expect(replies).toEqual([
    [
      503,
      {
        error: 'Service Unavailable',
        error_code: 'explorer_not_built',
        message:
          "The explorer is not built: run 'npm run build'. The API's description is at /docs.",
      },
    ],
  ]);
});

describe('the files of the explorer', () => {
  const names = readdirSync('dist/explorer').filter((name) => name !== 'index.html');

  it('may be kept for ever, since their names change with their content', async () => {
    expect(names.some((name) => name.endsWith('.js'))).toBe(true);
    for (const name of names) {
      expect(name).toMatch(/-[\w-]{8}\.\w+$/);
      const { status, headers } = await load(`/explorer/${name}`);
      expect([name, status]).toEqual([name, 200]);
      expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    }
  });

  it('are the same, compressed or not; each form has its own tag', async () => {
    const script = `/explorer/${names.find((name) => name.endsWith('.js'))}`;
    const forms = await Promise.all(
      ['identity', 'gzip', 'br, gzip'].map((accepted) =>
        load(script, { headers: { 'accept-encoding': accepted } }),
      ),
    );
    const coded = forms.map(({ headers }) => headers.get('content-encoding'));
    expect(coded).toEqual([null, 'gzip', 'br']);
    expect(forms.map(({ headers }) => headers.get('vary'))).toEqual(
      Array(3).fill('Accept-Encoding'),
    );
    expect(new Set(forms.map(({ headers }) => headers.get('etag'))).size).toBe(3);
    expect(new Set(await Promise.all(forms.map((one) => one.text()))).size).toBe(1);
  });

  it('are all there is', async () => {
    for (const other of [
      'index.html',
      'x.js',
      '..%2fclient%2findex.js',
      '%2e%2e%2fbuild.tsbuildinfo',
    ]) {
      expect([other, (await load(`/explorer/${other}`)).status]).toEqual([other, 404]);
    }
  });
});
