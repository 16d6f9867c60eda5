/** Bots: what they count; and runs of the whole table against real servers. */
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { PAGE_A } from '../../bench/data/pages.js';
import { sendBots } from '../../bench/http/generator.js';
import { hasNats } from '../../bench/nats.js';
import { temporaryDirectory } from '../support/folders.js';
import { resultsOf } from './program.js';
import { referenceHash } from './reference-page.js';

const folder = temporaryDirectory();
const servers: http.Server[] = [];

const HEADERS = { 'content-length': '2' };

/** A plain server that answers after `delayMs(n)`, with n counting from 0. */
async function serve(delayMs: (n: number) => number, status = 200): Promise<number> {
  let n = 0;
  const server = http.createServer((_, response) => {
    setTimeout(() => response.writeHead(status, HEADERS).end('{}'), delayMs(n++));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const order = (port: number) => ({
  port,
  paths: ['/a', '/b'],
  headers: {},
  connections: 2,
  requestsPerSecond: 200,
  warmupMs: 50,
  forMs: 500,
});

afterAll(() => {
  for (const server of servers) server.close();
});

describe('bots at a rate', () => {
  it('sends at its rate, whatever the server does, and counts replies by status', async () => {
    const report = await sendBots(order(await serve(() => 0, 404)));
    expect(report.requests).toBeGreaterThan(90);
    expect(report.requests).toBeLessThanOrEqual(101);
    expect(report.statuses).toEqual({ 404: report.requests });
  });

  it('charges a stall for everything that waited behind it', async () => {
    // Two replies take 300 ms and block both connections: some 60 requests become due in the meantime.
    const stalled = await sendBots(order(await serve((n) => (n === 40 || n === 41 ? 300 : 0))));
    expect(stalled.requests).toBeGreaterThan(90);
    expect(stalled.latencies.maxMs).toBeGreaterThanOrEqual(290);
    // A closed loop would have seen two slow replies of a hundred.
    expect(stalled.latencies.p50Ms).toBeGreaterThan(5);
  });

  it('fails when the server ends', async () => {
    const port = await serve(() => 0);
    const run = sendBots({ ...order(port), forMs: 5000 });
    setTimeout(() => servers[servers.length - 1].closeAllConnections(), 100);
    await expect(run).rejects.toThrow();
  });
});

describe('bots without a rate', () => {
  const floodOf = async (depth: number, delayMs: (n: number) => number) => {
    const port = await serve(delayMs);
    const bots = { requestsPerSecond: null, paths: ['/a'], headers: {}, connections: 3 };
    return sendBots({ ...bots, port, depth, warmupMs: 0, forMs: 200 });
  };

  it('counts every pipelined reply, however the bytes arrive', async () => {
    const report = await floodOf(5, (n) => n % 3);
    expect(report.requests).toBeGreaterThan(0);
    expect(report.requests % 5).toBe(0);
    expect(report.statuses).toEqual({ 200: report.requests });
    expect(report.elapsedMs).toBeGreaterThanOrEqual(200);
  });

  it('sends nothing more before it gets a reply', async () => {
    const { requests } = await floodOf(1, () => 50);
    // Three connections, at most four replies each, and one more in flight at the end.
    expect(requests).toBeLessThanOrEqual(15);
    expect(requests).toBeGreaterThanOrEqual(3);
  });

  it('fails on a reply of unknown length', async () => {
    const server = net.createServer((socket) => {
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const unknown = { ...order(port), connections: 1, requestsPerSecond: null, forMs: 5000 };
    await expect(sendBots(unknown)).rejects.toThrow('a reply of unknown length');
    server.close();
  });

  it('fails when the server ends', async () => {
    const run = floodOf(1, () => 100_000);
    setTimeout(() => servers[servers.length - 1].closeAllConnections(), 100);
    await expect(run).rejects.toThrow();
  });
});

interface Row {
  name: string;
  on: string;
  replies: number;
  hash: string | null;
  latencies: { p50Ms: number; p99Ms: number };
  loop: { maxMs: number };
  pagesPerSecond: number | null;
  snapshotsPerSecond: number | null;
}

interface Results {
  rows: Row[];
  archive: Record<'readsPerPage' | 'walkReads' | 'walkBytes' | 'objectBytes', number>;
}

describe('npm run bench:http', () => {
  const smoked = (...flags: string[]) => {
    const file = path.join(folder, 'http.json');
    const { stdout, results } = resultsOf<Results>('http', ['--smoke', ...flags], file);
    for (const { name, replies, latencies, loop } of results.rows) {
      expect(stdout).toContain(name);
      expect(replies, name).toBeGreaterThan(0);
      expect(latencies.p99Ms, name).toBeGreaterThanOrEqual(latencies.p50Ms);
      expect(loop.maxMs, name).toBeGreaterThanOrEqual(0);
    }
    return results;
  };

  it('measures every row, and serves the pages that the plain reference makes', () => {
    const { rows, archive } = smoked();
    const groups = new Set(rows.map(({ name }) => name.split('/')[0]));
    expect([...groups]).toEqual(['pages', 'history', 'series', 'slippage', 'bots', 'archive']);
    const hashes = (pattern: RegExp) =>
      new Set(rows.filter(({ name }) => pattern.test(name)).map(({ hash }) => hash));
    expect(hashes(/^pages.*group=market/)).toEqual(new Set([referenceHash(PAGE_A)]));
    for (const group of ['all', 'venue'] as const) {
      expect(hashes(new RegExp(`^pages.*group=${group}`))).toEqual(
        new Set([referenceHash(PAGE_A, group)]),
      );
    }
    const types = referenceHash(PAGE_A, 'market', ['onchain_pool']);
    expect(hashes(/^pages.*types=onchain_pool/)).toEqual(new Set([types]));
    const bots = new Map(rows.map((row) => [row.name, row]));
    expect(bots.get('bots/alone')).toMatchObject({
      pagesPerSecond: null,
      snapshotsPerSecond: null,
    });
    const beside = bots.get('bots/cold pages, ingest');
    expect(beside?.pagesPerSecond).toBeGreaterThan(0);
    expect(beside?.snapshotsPerSecond).toBeGreaterThan(0);
    expect(archive).toMatchObject({ objects: 1, cells: 360 * PAGE_A.cells });
    // A page of 100,000 cells is in one range, but at the beginning of a day.
    expect(archive.readsPerPage).toBe(1);
    expect(archive.walkReads).toBeLessThanOrEqual(2);
    expect(archive.walkBytes).toBe(archive.objectBytes);
  });

  it.skipIf(!hasNats)('measures rows on a node of a cluster too', () => {
    const { rows } = smoked('--nats', '--only', 'bots/default pages');
    expect(rows.map(({ on }) => on).toSorted()).toEqual(['node', 'single']);
  });
});
