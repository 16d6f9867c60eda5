/** The built documents, as the server has them. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { docsRoutes } from '../../server/api/docs.js';
import type { ApiError } from '../../server/http/errors.js';
import type { Exchange } from '../../server/http/exchange.js';
import { createRouter } from '../../server/http/router.js';
import { NO_LOGGER } from '../support/logger.js';
import { heldService } from '../support/service.js';

const FOLDER = 'dist/documents';
const service = await heldService();
const load = (target: string, init?: RequestInit) => fetch(`${service.server.url}${target}`, init);
const pages = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.html'))
  .map((name) => ({ name, html: readFileSync(path.join(FOLDER, name), 'utf8') }));
const addressOf = (name: string) =>
  name === 'index.html' ? '/docs' : `/docs/${name.replace(/\.html$/, '')}`;

describe('pages at /docs', () => {
  it('link to pages, headings and files that exist', async () => {
    expect(pages.length).toBeGreaterThan(30);
    const ids = new Map(
      pages.map(({ name, html }) => [
        addressOf(name),
        new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)),
      ]),
    );
    const files = new Set<string>();
    const lost: string[] = [];
    for (const { name, html } of pages) {
      for (const [, target] of html.matchAll(/ (?:href|src|data-search)="([^"]+)"/g)) {
        if (/^(https?|mailto):/.test(target)) continue;
        const [address, anchor] = target.split('#');
        const page = address === '' ? addressOf(name) : address;
        const known = ids.get(page);
        if (known === undefined) files.add(page);
        else if (anchor !== undefined && !known.has(anchor)) lost.push(`${name}: ${target}`);
      }
    }
    expect(lost).toEqual([]);
    expect(files.size).toBeGreaterThan(8);
    for (const file of files) expect([file, (await load(file)).status]).toEqual([file, 200]);
  });

  it('load files only from this server, and run no inline code', async () => {
    for (const { name, html } of pages) {
      expect([name, html.match(/<style|<script(?![^>]* src=)| style=| on\w+="/g)]).toEqual([
        name,
        null,
      ]);
      const loaded = [...html.matchAll(/<(?:script|link|img)[^>]* (?:src|href)="([^"]+)"/g)];
      for (const [, file] of loaded) expect(file).toMatch(/^\/docs\/[^/]+$/);
    }
    const policyOf = async (target: string) =>
      (await load(target)).headers.get('content-security-policy')?.split('; ');
    const own = ['script', 'style', 'font', 'connect'].map((one) => `${one}-src 'self'`);
    const none = ["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"];
    for (const target of ['/docs', '/docs/api'])
      expect(await policyOf(target)).toEqual([
        "default-src 'none'",
        ...own,
        "img-src 'self'",
        ...none,
      ]);
    expect(await policyOf('/docs/api-reference')).toEqual([
      "default-src 'none'",
      ...own,
      "img-src 'self' data:",
      ...none,
    ]);
  });

  it('may be kept by browsers as long as they are the same', async () => {
    const { headers } = await load('/docs/api');
    expect(headers.get('cache-control')).toBe('no-cache');
    const again = await load('/docs/api', {
      headers: { 'if-none-match': headers.get('etag') ?? '' },
    });
    expect(again.status).toBe(304);
    const [, script] =
      /<script type="module" src="([^"]+)"/.exec(await (await load('/docs')).text()) ?? [];
    const file = await load(script);
    expect(file.headers.get('cache-control')).toContain('immutable');
    expect(file.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
  });

  it('are not there under other names', async () => {
    for (const name of [
      'nowhere',
      'api.html',
      'index.html',
      'API',
      '..%2fpackage.json',
      'package.json',
    ])
      expect([name, (await load(`/docs/${name}`)).status]).toEqual([name, 404]);
    expect((await load('/docs/')).status).toBe(404);
  });

  it('are said to be missing without a build', () => {
    const routes = createRouter(docsRoutes([], '/nowhere'), NO_LOGGER);
    const replies: unknown[] = [];
    const replyError = (error: ApiError) => replies.push([error.status, error.body]);
    for (const path of ['/docs', '/docs/api', '/docs/page.js'])
      routes({ method: 'GET', path, replyError } as unknown as Exchange);
    const missing = {
      error: 'Service Unavailable',
      error_code: 'documents_not_built',
      message:
        "The documents are not built: run 'npm run build'. The API's description is at /api/v1/openapi.json.",
    };
    expect(replies).toMatchObject([
      [503, missing],
      [503, missing],
      [404, {}],
    ]);
  });
});
