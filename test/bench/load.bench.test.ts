/** The open loop of bots: what it counts, and a run of all of it against a real server. */
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { flood } from '../../bench/load/flood.js';
import { generate } from '../../bench/load/generator.js';
import { temporaryDirectory } from '../support/folders.js';
import { resultsOf } from './program.js';

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

it('npm run bench:http measures bots beside pages and a collector', () => {
  const only = 'bots alone; bots, cold pages, ingest; bots, plans; bots flat out';
  const file = path.join(folder, 'http.json');
  const { stdout, results: made } = resultsOf<{
    results: {
      bots: { requests: number; statuses: object; latencies: { p50Ms: number; p99Ms: number } };
      loop: { maxMs: number };
      replay: { pages: number } | null;
      ingest: { snapshots: number } | null;
    }[];
    floods: { flood: { requests: number; statuses: object }; loop: { elapsedMs: number } }[];
  }>('load', ['--smoke', '--only', only], file);
  const { results, floods } = made;
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
  for (const name of ['bots, cold pages, ingest', 'bots flat out']) expect(stdout).toContain(name);
});
