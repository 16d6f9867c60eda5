/** /healthz, /readyz and /metrics of a really started server, with the API and on a separate port. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Histogram, Registry } from 'prom-client';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Exchange } from '../../server/http/exchange.js';
import { loadEngine } from '../../server/http/load-engine.js';
import { createRouter } from '../../server/http/router.js';
import { startHttpServer } from '../../server/http/server.js';
import { Metrics } from '../../server/operations/metrics.js';
import { operationsRoutes, SCRAPE_INTERVAL_MS } from '../../server/operations/operations.js';
import { BUILD } from '../../storage/version.js';
import { fathom, newKey, serve, serveHere, type Service } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { ingest } from '../support/ingest.js';
import { NO_LOGGER } from '../support/logger.js';
import { MINT, orca, snapshot } from '../support/stores.js';
import { becomes } from '../support/waiting.js';

const directory = temporaryDirectory();
const data = path.join(directory, 'data');
const T = 1_794_600_000;
let server: Service;
let key: string;

beforeAll(async () => {
  key = await newKey(data);
  server = await serveHere(data, ['--as-of', String(T + 60)]);
});

const at = (url: string, route: string) => fetch(new URL(route, url));
const readiness = async () => {
  const reply = await at(server.url, '/readyz');
  const { position, ...document } = (await reply.json()) as Record<string, unknown>;
  expect(position).toBeGreaterThan(0);
  return [reply.status, document];
};

/** Samples by name and labels, parsed by the format's specification. */
async function samples(url = server.url): Promise<Map<string, number>> {
  const reply = await at(url, '/metrics');
  expect(reply.status).toBe(200);
  expect(reply.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  const lines = (await reply.text()).split('\n').filter((line) => !/^(#|$)/.test(line));
  return new Map(
    lines.map((line) => {
      const [, name, value] = /^([a-zA-Z_:][\w:]*(?:\{.*\})?) (\S+)$/.exec(line) ?? [];
      expect(name, line).toBeDefined();
      return [name, Number(value)] as const;
    }),
  );
}

describe('health and readiness', () => {
  it('need no key, and are given once the boards are built', async () => {
    const health = await at(server.url, '/healthz');
    expect([health.status, await health.json()]).toEqual([200, { status: 'ok' }]);
    expect(health.headers.get('x-fathom-version')).toBe(BUILD);
    await becomes(readiness, [200, { status: 'ready' }]);
    expect((await fetch(new URL('/healthz', server.url), { method: 'POST' })).status).toBe(405);
  });

  it('end while nothing can be written beside the store, and come back', async () => {
    const probe = path.join(data, '.probe');
    mkdirSync(probe);
    await becomes(readiness, [503, { status: 'not_ready', reasons: ['store'] }]);
    expect(server.logged()).toMatch(
      /"reasons":"store","cause":"[^"]*EISDIR[^"]*","msg":"not ready"/,
    );
    expect((await samples()).get('fathom_ready')).toBe(0);
    rmSync(probe, { recursive: true });
    await becomes(readiness, [200, { status: 'ready' }]);
    expect(server.logged().trim()).toContain('"msg":"ready again"');
    expect((await samples()).get('fathom_ready')).toBe(1);
  });

  it("end if the database's file is gone; nothing is stored until it is put back", async () => {
    const file = path.join(data, 'fathom.duckdb');
    renameSync(file, path.join(directory, 'aside'));
    await becomes(readiness, [503, { status: 'not_ready', reasons: ['store'] }]);
    const create = () => fathom(['keys', 'create', '--tier', 'premium', '--data', data]);
    const refused = await create();
    expect([refused.status, refused.stderr]).toEqual([
      1,
      expect.stringContaining('fathom.duckdb was removed or replaced while it was open'),
    ]);
    renameSync(path.join(directory, 'aside'), file);
    await becomes(readiness, [200, { status: 'ready' }]);
    expect((await create()).status).toBe(0);
  });
});

describe('metrics', () => {
  it("have the durations of requests as prom-client's own histogram", async () => {
    const metrics = new Metrics();
    const name = 'fathom_http_request_duration_seconds';
    const help = 'Time from a request to the end of its reply';
    const registry = new Registry();
    const buckets = [
      0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
      10,
    ];
    const labelNames = ['route'];
    const own = new Histogram({ name, help, buckets, labelNames, registers: [registry] });
    const times = [0, ...buckets, ...buckets.map((bound) => bound * 1.001), 1000];
    for (const route of ['/a', '/b', null]) {
      for (const seconds of times) {
        own.observe({ route: route ?? 'none' }, (1000 * seconds) / 1000);
        const request = { route, method: 'GET', status: 200, ageMs: 1000 * seconds };
        metrics.requestEnded(request as unknown as Exchange);
      }
    }
    // Reading them changes nothing.
    expect(await metrics.text()).toContain(`route="/a",method="GET",status="200"} ${times.length}`);
    const text = await metrics.text();
    expect(text).toContain(`route="/a",method="GET",status="200"} ${times.length}`);
    expect(text).toContain((await registry.metrics()).trim());
  });

  it('are read once for all who ask together, a few times a second, and never older than the request', async () => {
    const metrics = new Metrics();
    let readings = 0;
    let age = 0;
    metrics.follow({
      staleTokens: () => ++readings,
      newestSnapshotAgeS: () => age,
    });
    const http = await startHttpServer({
      engine: await loadEngine('uws', NO_LOGGER),
      host: '127.0.0.1',
      port: 0,
      logger: NO_LOGGER,
      handle: createRouter(operationsRoutes({}, metrics, NO_LOGGER), NO_LOGGER),
    });
    try {
      const ageRead = async () => {
        const text = await (await at(`http://127.0.0.1:${http.port}`, '/metrics')).text();
        return Number(/^fathom_newest_snapshot_age_seconds (\d+)$/m.exec(text)?.[1]);
      };
      const beganMs = performance.now();
      for (age = 1; age <= 5; age++) {
        const ages = Array.from({ length: 64 }, ageRead);
        expect(await Promise.all(ages)).toEqual(Array(64).fill(age));
      }
      const intervals = (performance.now() - beganMs) / SCRAPE_INTERVAL_MS;
      expect(readings).toBeLessThanOrEqual(intervals + 1);
    } finally {
      await http.close();
    }
  });

  it('count requests by route, pages by source, and what is ingested', async () => {
    const file = path.join(directory, 'depth.ndjson');
    const rows = [
      snapshot(T - 60),
      snapshot(T, [
        orca([
          [0, 5, 7],
          [1, 3, 4],
        ]),
      ]),
    ];
    writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    const before = await samples();
    expect(before.get('fathom_newest_snapshot_age_seconds')).toBeNaN();
    await ingest(data, 'snapshots', [file]);
    const page = `/replay/${MINT}?from=${T - 600}&to=${T}`;
    expect((await server.get(page, key)).status).toBe(200);
    expect((await server.get(page, 'no key')).status).toBe(401);
    expect((await server.get('/nothing/here', key)).status).toBe(404);
    const tag = (await server.get(page, key)).headers.get('etag') ?? '';
    const again = await fetch(`${server.url}/api/v1${page}`, {
      headers: { 'x-api-key': key, 'if-none-match': tag },
    });
    expect(again.status).toBe(304);
    // The server reads it after the commit, in the background.
    const ageS = async () => (await samples()).get('fathom_newest_snapshot_age_seconds');
    await becomes(ageS, 60);
    const found = await samples();
    const count = (name: string) => found.get(name) ?? 0;
    const requests = (route: string, status: number) =>
      count(`fathom_http_requests_total{route="${route}",method="GET",status="${status}"}`);
    expect(requests('/api/v1/replay/:address', 200)).toBe(2);
    expect(requests('/api/v1/replay/:address', 401)).toBe(1);
    expect(requests('/api/v1/replay/:address', 304)).toBe(1);
    expect(requests('none', 404)).toBe(1);
    expect(
      count('fathom_http_request_duration_seconds_count{route="/api/v1/replay/:address"}'),
    ).toBe(4);
    const answered = ['pool', 'fragments'].map((source) =>
      count(`fathom_pages_total{source="${source}"}`),
    );
    expect(answered[0] + answered[1]).toBe(2);
    expect(count('fathom_pages_total{source="not_modified"}')).toBe(1);
    expect(count('fathom_page_queue_wait_seconds_count')).toBe(answered[0]);
    expect(count('fathom_ingest_rows_total{dataset="snapshots"}')).toBe(2);
    expect(count('fathom_ingest_cells_total')).toBe(3);
    expect(count('fathom_commit_duration_seconds_count')).toBe(1);
    expect(count('fathom_newest_snapshot_age_seconds')).toBe(60);
    expect(count('fathom_store_bytes')).toBeGreaterThan(4096);
    // The scrape itself is in progress.
    expect(count('fathom_http_in_flight')).toBe(1);
    for (const name of [
      'fathom_reply_bytes_in_flight',
      'fathom_page_queue_length',
      'fathom_pool_busy_threads',
      'fathom_event_loop_delay_seconds{quantile="0.99"}',
      'process_resident_memory_bytes',
    ]) {
      expect(found.has(name), name).toBe(true);
    }
    expect([...found.keys()].filter((name) => name.includes(MINT) || name.includes(key))).toEqual(
      [],
    );
  });

  it.each(['grafana.json', 'fathom.rules.yml'])(
    'are all that docs/deploy/%s asks for',
    async (file) => {
      const text = await (await at(server.url, '/metrics')).text();
      const exposed = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name, kind]) =>
        kind === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
      );
      const named = readFileSync(path.join('docs/deploy', file), 'utf8').match(
        /\b(fathom|process|nodejs)_\w+/g,
      );
      expect(named?.length).toBeGreaterThan(10);
      // Only a node of a cluster has this one.
      const known = [...exposed, 'fathom_log_refusals_total'];
      expect(named?.filter((name) => !known.includes(name))).toEqual([]);
    },
  );

  it('are on a separate port if one is given', async () => {
    const other = path.join(directory, 'other');
    const flags = ['--port', '0', '--admin-port', '0', '--threads', '1', '--stop-delay', '5m'];
    const second = await serve(other, flags);
    const [, admin] = /"admin_url":"([^"]+)"/.exec(second.logged()) ?? [];
    expect((await at(admin, '/healthz')).status).toBe(200);
    expect((await samples(admin)).size).toBeGreaterThan(50);
    expect((await at(admin, '/docs')).status).toBe(404);
    for (const route of ['/healthz', '/readyz', '/metrics']) {
      expect((await at(second.url, route)).status).toBe(404);
    }
    // It says that it is stopping and still takes requests; a second signal ends it at once.
    process.kill(second.pid, 'SIGTERM');
    const ready = async () => ((await (await at(admin, '/readyz')).json()) as Readiness).reasons;
    await becomes(async () => (await ready())?.includes('stopping'), true);
    expect((await at(second.url, '/docs')).status).toBe(200);
    expect(second.logged()).toContain('"stop_delay_s":300,"msg":"stopping"');
    expect(await second.stop()).toEqual({ status: null, signal: 'SIGTERM' });
  });
});

interface Readiness {
  reasons?: string[];
}
