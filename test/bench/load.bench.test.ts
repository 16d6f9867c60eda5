/** The open loop of bots: what it counts, and a run of all of it against a real server. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { BenchUsageError } from '../../bench/errors.js';
import { flood } from '../../bench/load/flood.js';
import { generate } from '../../bench/load/generator.js';
import { readHttpOptions } from '../../bench/load/options.js';

const root = path.resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(path.join(os.tmpdir(), 'fathom-load-test-'));
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
  ...{ port, paths: ['/a', '/b'], headers: {}, connections: 2 },
  ...{ requestsPerSecond: 200, warmupMs: 50, forMs: 500 },
});

afterAll(() => {
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('the open loop', () => {
  it('sends at its rate, whatever the server does, and counts replies by status', async () => {
    const report = await generate(order(await serve(() => 0, 404)));
    expect(report.requests).toBeGreaterThan(90);
    expect(report.requests).toBeLessThanOrEqual(101);
    expect(report.statuses).toEqual({ 404: report.requests });
  });

  it('charges a stall for everything that waited behind it', async () => {
    // Two replies take 300 ms and block both connections: some 60 requests become due in the meantime.
    const stalled = await generate(order(await serve((n) => (n === 40 || n === 41 ? 300 : 0))));
    expect(stalled.requests).toBeGreaterThan(90);
    expect(stalled.latencies.maxMs).toBeGreaterThanOrEqual(290);
    // A closed loop would have seen two slow replies of a hundred.
    expect(stalled.latencies.p50Ms).toBeGreaterThan(5);
    const quick = await generate(order(await serve(() => 0)));
    expect(quick.latencies.p50Ms).toBeLessThan(stalled.latencies.p50Ms);
  });

  it('fails when the server ends', async () => {
    const port = await serve(() => 0);
    const run = generate({ ...order(port), forMs: 5000 });
    setTimeout(() => servers[servers.length - 1].closeAllConnections(), 100);
    await expect(run).rejects.toThrow();
  });
});

describe('the flood', () => {
  const floodOf = async (depth: number, delayMs: (n: number) => number) => {
    const port = await serve(delayMs);
    return flood({ port, paths: ['/a'], headers: {}, connections: 3, depth, forMs: 200 });
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
    const order = { port, paths: ['/'], headers: {}, connections: 1, depth: 1, forMs: 5000 };
    await expect(flood(order)).rejects.toThrow('a reply of unknown length');
    server.close();
  });

  it('fails when the server ends', async () => {
    const run = floodOf(1, () => 100_000);
    setTimeout(() => servers[servers.length - 1].closeAllConnections(), 100);
    await expect(run).rejects.toThrow();
  });
});

describe('npm run bench:http', () => {
  const main = path.join(root, 'dist/bench/load/main.js');
  const bench = (...words: string[]) =>
    spawnSync(process.execPath, [main, ...words], { cwd: folder, encoding: 'utf8' });

  it('measures bots beside pages and a collector', () => {
    const file = path.join(folder, 'http.json');
    const only = 'bots alone; bots, cold pages, ingest; bots, plans; bots flat out';
    const { status, stdout, stderr } = bench('--smoke', '--only', only, '--json', file);
    expect([status, stderr]).toEqual([0, expect.not.stringContaining('Error')]);
    const { results, floods } = JSON.parse(readFileSync(file, 'utf8')) as {
      results: {
        bots: { requests: number; statuses: object; latencies: { p50Ms: number; p99Ms: number } };
        loop: { maxMs: number };
        replay: { pages: number } | null;
        ingest: { snapshots: number } | null;
      }[];
      floods: { flood: { requests: number; statuses: object }; loop: { elapsedMs: number } }[];
    };
    expect(results).toHaveLength(3);
    for (const { bots, loop } of results) {
      expect(bots.statuses).toEqual({ 200: bots.requests });
      expect(bots.latencies.p99Ms).toBeGreaterThanOrEqual(bots.latencies.p50Ms);
      expect(loop.maxMs).toBeGreaterThanOrEqual(0);
    }
    expect(results[0]).toMatchObject({ replay: null, ingest: null });
    expect(results[1].replay?.pages).toBeGreaterThan(0);
    expect(results[1].ingest?.snapshots).toBeGreaterThan(0);
    expect(results[2].replay?.pages).toBeGreaterThan(0);
    expect(floods).toHaveLength(1);
    expect(floods[0].flood.requests).toBeGreaterThan(0);
    expect(floods[0].flood.statuses).toEqual({ 200: floods[0].flood.requests });
    for (const name of ['bots, cold pages, ingest', 'bots flat out'])
      expect(stdout).toContain(name);
  });

  it('refuses wrong flags with status 2', () => {
    for (const words of [['--only', 'nothing'], ['--rate', '0'], ['again']]) {
      expect(() => readHttpOptions(words)).toThrow(BenchUsageError);
    }
    const { status, stdout, stderr } = bench('--fast');
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toContain('--smoke');
  });
});
