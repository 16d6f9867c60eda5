/** A disk that fills up shows in /readyz, the metrics and the log: before writes fail, while they do, and after. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { fathom, newKey, serve, type Service } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { MINT, noiseRows, snapshot, type SnapshotRow } from '../support/stores.js';
import { becomes } from '../support/waiting.js';

const directory = temporaryDirectory();
const hasPrlimit = spawnSync('prlimit', ['--version']).status === 0;

function fileOf(name: string, rows: readonly SnapshotRow[]): string {
  const file = path.join(directory, name);
  writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return file;
}

async function readiness(server: Service): Promise<unknown> {
  const { status, reasons } = (await (await fetch(`${server.url}/readyz`)).json()) as {
    status: string;
    reasons?: string[];
  };
  return reasons ?? status;
}

async function metric(server: Service, name: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
}

/** Lines of the log with this message. */
const linesWith = (server: Service, message: string) =>
  server.logged().split(`"msg":"${message}"`).length - 1;

// Where a file-size limit can be set, writes fail as on a full disk without filling one.
describe.runIf(hasPrlimit)('A server whose disk is full', () => {
  it('is not ready while commits are refused, says so once, and is ready when one succeeds', async () => {
    const data = path.join(directory, 'data');
    await newKey(data);
    const server = await serve(data, ['--port', '0', '--threads', '1'], { fileKiB: 1024 });
    await becomes(() => readiness(server), 'ready');
    const ingest = (file: string) => fathom(['ingest', 'snapshots', file, '--data', data]);
    const large = fileOf('large.ndjson', noiseRows(1000));
    let refusals = 0;
    const refuse = async () => {
      const { status, stderr } = await ingest(large);
      const full = expect.stringContaining('cannot grow: its disk is full') as string;
      expect([status, stderr]).toEqual([1, full]);
      refusals++;
    };
    // A server is ready when other programs have freed some of the disk, until the next refusal.
    const isNotReady = async () => {
      await refuse();
      return readiness(server);
    };
    const begun = () => linesWith(server, 'commits are refused: the disk is full');
    const over = () => linesWith(server, 'commits are accepted again');
    await refuse();
    await becomes(isNotReady, ['disk']);
    expect(await metric(server, 'fathom_commits_refused_total')).toBe(refusals);
    expect(begun() - over()).toBe(1);
    expect(server.logged()).toMatch(/"reasons":"disk","cause":"[^"]*its disk is full/);
    // A smaller one fits.
    expect((await ingest(fileOf('small.ndjson', [snapshot(1)]))).status).toBe(0);
    await becomes(() => readiness(server), 'ready');
    await becomes(isNotReady, ['disk']);
    spawnSync('prlimit', ['--pid', String(server.pid), '--fsize=unlimited']);
    expect((await ingest(large)).status).toBe(0);
    await becomes(() => readiness(server), 'ready');
    expect(over()).toBe(begun());
    expect(over()).toBeGreaterThan(1);
    expect(server.logged()).not.toContain('"level":"error"');
    const [free, all] = [
      await metric(server, 'fathom_disk_free_bytes'),
      await metric(server, 'fathom_disk_bytes'),
    ];
    expect(free).toBeGreaterThan(0);
    expect(all).toBeGreaterThan(free);
    expect(await metric(server, 'fathom_store_wal_bytes')).toBeGreaterThan(1_048_576);
  });

  it('reports what a key has used although it cannot write it', async () => {
    const data = path.join(directory, 'used');
    const key = await newKey(data);
    const server = await serve(data, ['--port', '0', '--threads', '1'], { fileKiB: 1024 ** 2 });
    const usage = async () => {
      const reply = await server.get('/usage', key);
      const { used, days, endpoints } = (await reply.json()) as Record<string, unknown>;
      return [reply.status, used, (days as { requests: number }[])?.[0]?.requests, endpoints];
    };
    const answer = (requests: number) => [
      200,
      requests,
      requests,
      [{ endpoint: 'GET /score/:address', requests }],
    ];
    expect((await server.get(`/score/${MINT}`, key)).status).toBe(200);
    expect(await usage()).toEqual(answer(1));
    spawnSync('prlimit', ['--pid', String(server.pid), '--fsize=0:unlimited']);
    expect((await server.get(`/score/${MINT}`, key)).status).toBe(200);
    expect(await usage()).toEqual(answer(2));
    await becomes(() => linesWith(server, 'commits are refused: the disk is full'), 1);
    expect(await usage()).toEqual(answer(2));
    spawnSync('prlimit', ['--pid', String(server.pid), '--fsize=unlimited']);
    expect(await usage()).toEqual(answer(2));
  });
});
