import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { explorerRoutes } from '../../server/api/explorer.js';
import type { ApiError } from '../../server/http/errors.js';
import type { Exchange } from '../../server/http/exchange.js';
import { loadEngine } from '../../server/http/load-engine.js';
import { createRouter } from '../../server/http/router.js';
import { type HttpServer, startHttpServer } from '../../server/http/server.js';
import { temporaryDirectory } from '../support/folders.js';
import { NO_LOGGER } from '../support/logger.js';
import { heldService } from '../support/service.js';
import { becomes } from '../support/waiting.js';

const service = await heldService();

const load = (target: string, init?: RequestInit) => fetch(`${service.server.url}${target}`, init);

describe('GET /', () => {
  it('may load files only from this server, and runs no inline code', async () => {
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

  it('refers to files that exist, and links to the API description for browsers without JavaScript', async () => {
    const html = await (await load('/')).text();
    expect(html).not.toMatch(/https?:|<style|<script(?![^>]* src=)| style=| on\w+=/);
    const noscript = /<noscript>([^]*)<\/noscript>/.exec(html)?.[1] ?? '';
    expect(noscript).toContain('href="/docs"');
    expect(noscript).toContain('href="/api/v1/openapi.json"');
    const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => file);
    expect(files.length).toBeGreaterThan(4);
    for (const file of files) expect([file, (await load(file)).status]).toEqual([file, 200]);
  });

  it('has at most 120 KB of script, as browsers get it, before a map can be drawn', async () => {
    const html = await (await load('/')).text();
    const first = [...html.matchAll(/(?:src|href)="([^"]+\.js)"/g)].map(([, file]) => file);
    expect(first.length).toBeGreaterThan(1);
    // The decoder of pages; the strips and the player come with the map.
    const later = readdirSync('dist/explorer')
      .filter((name) => /^Arrow\.dom-.*\.js$/.test(name))
      .map((name) => `/explorer/${name}`);
    expect(later.length).toBe(1);
    let bytes = 0;
    for (const file of [...first, ...later]) {
      const { headers } = await load(file, { headers: { 'accept-encoding': 'br' } });
      expect(headers.get('content-encoding')).toBe('br');
      bytes += Number(headers.get('content-length'));
    }
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThanOrEqual(120_000);
  });

  it('answers HEAD, and 304 to a known ETag', async () => {
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

it('says what to run if the explorer is not built', () => {
  const routes = createRouter(explorerRoutes({ folder: '/nowhere' }), NO_LOGGER);
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
          "The explorer is not built: run 'npm run build'. The API's description is at /api/v1/openapi.json.",
      },
    ],
  ]);
});

describe('files that do not exist yet', () => {
  let server: HttpServer;
  const folder = path.join(temporaryDirectory(), 'explorer');
  beforeAll(async () => {
    server = await startHttpServer({
      engine: await loadEngine('uws', NO_LOGGER),
      host: '127.0.0.1',
      port: 0,
      logger: NO_LOGGER,
      handle: createRouter(explorerRoutes({ folder }), NO_LOGGER),
    });
  });
  afterAll(async () => {
    await server.close();
  });
  const get = async (target: string) => {
    const reply = await fetch(`http://127.0.0.1:${server.port}${target}`);
    return [reply.status, await reply.text()];
  };

  it('are served once they exist', async () => {
    expect((await get('/'))[0]).toBe(503);
    mkdirSync(folder);
    writeFileSync(path.join(folder, 'index.html'), 'first page');
    writeFileSync(path.join(folder, 'first.js'), 'first');
    await becomes(() => get('/'), [200, 'first page']);
    rmSync(path.join(folder, 'first.js'));
    expect((await get('/explorer/first.js'))[0]).toBe(500);
    writeFileSync(path.join(folder, 'first.js'), 'first again');
    await becomes(() => get('/explorer/first.js'), [200, 'first again']);
  });

  it('come from a newer build; those read earlier stay available', async () => {
    rmSync(path.join(folder, 'first.js'));
    writeFileSync(path.join(folder, 'index.html'), 'second page');
    writeFileSync(path.join(folder, 'second.js'), 'second');
    // A file that was read once stays in memory, so the earlier page still works.
    expect(await get('/explorer/first.js')).toEqual([200, 'first again']);
    await becomes(() => get('/explorer/second.js'), [200, 'second']);
    expect(await get('/')).toEqual([200, 'second page']);
  });
});

describe('the files of the explorer', () => {
  const names = readdirSync('dist/explorer').filter((name) => name !== 'index.html');

  it('may be cached forever, since their names change with their content', async () => {
    expect(names.some((name) => name.endsWith('.js'))).toBe(true);
    for (const name of names) {
      expect(name).toMatch(/-[\w-]{8}\.\w+$/);
      const { status, headers } = await load(`/explorer/${name}`);
      expect([name, status]).toEqual([name, 200]);
      expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    }
  });

  it('are the same in every encoding; each encoding has its own ETag', async () => {
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

  it('are the only ones below /explorer/', async () => {
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
