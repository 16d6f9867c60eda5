/** How live connections depend on their keys: they pay, and they end with them. */
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { fathom, type Service, serveHere } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { ingestCells, LiveClient, timesOf } from '../support/live-client.js';
import { MINT, OTHER_MINT } from '../support/stores.js';
import { eventually } from '../support/waiting.js';

const T0 = 1_794_000_000;
const NOW_S = T0 + 86_400;
/** Replay pages have as many snapshots, and history costs the same as pages. */
const PAGE_SNAPSHOTS = 288;
const HOUR_MS = 3_600_000;

/** Moves the wall clock, which the server in this process reads too. */
function setForward(seconds: number) {
  const now = Date.now.bind(Date);
  return vi.spyOn(Date, 'now').mockImplementation(() => now() + seconds * 1000);
}

describe('The key of a live connection', () => {
  let directory: string;
  let service: Service;

  const keys = async (...words: string[]): Promise<{ key: string; id: string }> => {
    const ended = await fathom(['keys', ...words, '--data', directory, '--json']);
    expect([ended.status, ended.stderr]).toEqual([0, expect.any(String)]);
    return JSON.parse(ended.stdout) as { key: string; id: string };
  };
  const newKey = (...words: string[]) =>
    keys('create', '--tier', 'premium', '--rpm', 'unlimited', ...words);
  const streamRequests = async (key: string): Promise<number> => {
    const reply = await service.get('/usage', key);
    const { endpoints } = (await reply.json()) as {
      endpoints: { endpoint: string; requests: number }[];
    };
    return endpoints.find(({ endpoint }) => endpoint === 'GET /stream')?.requests ?? 0;
  };
  const subscribe = (client: LiveClient, fields: object = {}): void =>
    client.send({ op: 'subscribe', id: 'a', channel: 'depth', address: MINT, ...fields });

  beforeAll(async () => {
    directory = temporaryDirectory();
    service = await serveHere(directory, ['--as-of', String(NOW_S)]);
    await ingestCells(
      directory,
      Array.from({ length: 4 * PAGE_SNAPSHOTS }, (_, i) => [T0 + i, 1]),
    );
  });
  afterEach(() => vi.restoreAllMocks());

  it('closes the connection when it expires', async () => {
    const { key } = await newKey('--expires', String(Math.ceil(Date.now() / 1000) + 3600));
    const client = await LiveClient.open(service.url, key);
    subscribe(client);
    expect((await client.next()).type).toBe('subscribed');
    const clock = setForward(3601);
    const { code, reason } = await client.end();
    clock.mockRestore();
    expect([code, reason]).toEqual([4401, expect.stringMatching(/^This API key expired at /)]);
  });

  it('closes connections by an earlier text when that ends, and no others', async () => {
    const { key: earlier, id } = await newKey();
    const old = await LiveClient.open(service.url, earlier);
    subscribe(old);
    await old.next();
    const { key: later } = await keys('rotate', id, '--overlap', '1h');
    const fresh = await LiveClient.open(service.url, later);
    subscribe(fresh);
    await fresh.next();
    expect(old.closed).toBeNull();
    const clock = setForward(3601);
    expect((await old.end()).code).toBe(4401);
    clock.mockRestore();
    fresh.send({ op: 'ping' });
    expect(await fresh.next()).toEqual({ type: 'pong' });

    await keys('rotate', id);
    expect((await fresh.end()).code).toBe(4401);
  });

  it('pays for a subscription and for each hour of it', async () => {
    const { key } = await newKey();
    const client = await LiveClient.open(service.url, key);
    subscribe(client);
    expect((await client.next()).type).toBe('subscribed');
    client.send({ op: 'subscribe', id: 's', channel: 'score', address: MINT });
    await client.next(({ type }) => type === 'document');
    expect(await streamRequests(key)).toBe(1);
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now');
    for (const hours of [1, 2]) {
      clock.mockImplementation(() => now() + hours * HOUR_MS);
      await eventually('another hour', async () => (await streamRequests(key)) === 1 + hours);
      // The channel of a document counts as its endpoint.
      const reply = await service.get('/usage', key);
      expect(JSON.stringify(await reply.json())).toMatch(
        new RegExp(`GET /score/:address[^}]*"requests":${1 + hours}`),
      );
    }
    clock.mockRestore();
    client.socket.close();
  });

  it('pays for no subscription that is refused', async () => {
    const { key } = await newKey();
    const client = await LiveClient.open(service.url, key);
    const refused = [
      { channel: 'score', address: 'bad' },
      { channel: 'top-scores', chain: 'zz' },
      { channel: 'dca-pressure', min_mcap: 'x' },
      { channel: 'depth', address: '__proto__' },
    ];
    for (const fields of refused) {
      client.send({ op: 'subscribe', id: 's', ...fields });
      expect((await client.next()).type).toBe('error');
    }
    const reply = await service.get('/usage', key);
    expect(await reply.json()).toMatchObject({ used: 0 });
    client.socket.close();
  });

  it('learns when it may subscribe again', async () => {
    const { key } = await keys('create', '--tier', 'premium', '--rpm', '1');
    const client = await LiveClient.open(service.url, key);
    subscribe(client);
    expect((await client.next()).type).toBe('subscribed');
    subscribe(client, { id: 'b' });
    const error = await client.next();
    expect(error).toMatchObject({ type: 'error', id: 'b', retry_ms: expect.any(Number) });
    expect(error.error).toBe(
      `Rate limit exceeded: retry in ${Number(error.retry_ms) / 1000} seconds`,
    );
    client.socket.close();
  });

  it('pays for what is revised as for history, once that is more than an hour old', async () => {
    const { key, id } = await newKey('--quota', '3');
    const client = await LiveClient.open(service.url, key);
    const mint = OTHER_MINT;
    const ago = (s: number) => NOW_S - s;
    const old = Array.from({ length: 3 * PAGE_SNAPSHOTS }, (_, i) => ago(9000 - i));
    const ingest = (times: readonly number[], amount: number) =>
      ingestCells(
        directory,
        times.map((t) => [t, amount]),
        mint,
      );
    await ingest([ago(9001)], 1);
    subscribe(client, { address: mint, group: 'all' });
    expect((await client.next()).type).toBe('subscribed');
    await ingest([ago(60)], 1);
    expect(timesOf(await client.next())).toEqual([ago(60)]);
    await ingest([ago(61), ago(60)], 2);
    expect(timesOf(await client.next())).toEqual([ago(61), ago(60)]);
    expect(await streamRequests(key)).toBe(1);
    await ingest(old, 1);
    const error = await client.next(({ type }) => type === 'error');
    expect(error.error).toMatch(/^Monthly quota exceeded/);
    const late = client.heard.filter(({ type }) => type === 'revised').slice(1);
    expect(late.flatMap(timesOf)).toEqual(old.slice(0, 2 * PAGE_SNAPSHOTS));
    expect(await streamRequests(key)).toBe(3);

    await keys('update', id, '--quota', '5');
    subscribe(client, { address: mint, group: 'all', cursor: late.at(-1)?.cursor });
    const rest: number[] = [];
    while (rest.length < PAGE_SNAPSHOTS) rest.push(...timesOf(await client.next()));
    expect(rest).toEqual(old.slice(2 * PAGE_SNAPSHOTS));
    client.socket.close();
  });

  it('ends Server-Sent Events with its quota, and may connect again', async () => {
    const { key, id } = await newKey('--quota', '2');
    for (let i = 0; i < 11; i++) {
      await keys('update', id, '--quota', String(2 + 2 * i));
      const reply = await service.get(`/stream/${MINT}?from=${T0}&group=all`, key);
      const [error, close] = (await reply.text()).trim().split('\n\n').slice(-2);
      expect(error).toMatch(
        /^data: \{"type":"error","id":"stream","error":"Monthly quota.*"retry_ms":\d+\}$/,
      );
      expect(close).toMatch(/^event: close\ndata: \{"type":"close","code":1000,/);
    }
  });

  it('pays for history as for pages until its quota is used up, and continues with the cursor', async () => {
    const { key, id } = await newKey('--quota', '3');
    const client = await LiveClient.open(service.url, key);
    subscribe(client, { from: T0, group: 'all' });
    const error = await client.next(({ type }) => type === 'error');
    expect(error).toMatchObject({
      id: 'a',
      error: expect.stringMatching(/^Monthly quota exceeded/),
    });
    client.send({ op: 'ping' });
    expect(await client.next()).toEqual({ type: 'pong' });
    const heard = client.heard.flatMap(timesOf);
    expect(heard).toEqual(Array.from({ length: 2 * PAGE_SNAPSHOTS }, (_, i) => T0 + i));
    expect(await streamRequests(key)).toBe(3);

    await keys('update', id, '--quota', '100');
    const { cursor } = client.heard.filter((message) => message.type === 'snapshots').pop() ?? {};
    subscribe(client, { cursor, group: 'all' });
    const more: number[] = [];
    while (more.length < 2 * PAGE_SNAPSHOTS) more.push(...timesOf(await client.next()));
    expect(more).toEqual(more.map((_, i) => T0 + 2 * PAGE_SNAPSHOTS + i));
    client.socket.close();
  });
});
