import { createHash } from 'node:crypto';
import zlib from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import type { Fragments } from '../../server/replay/fragments.js';
import { checkedFetch } from '../support/conformance.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { KEY, NOW_S, WIDE_MINT, heldService, steadyStore } from '../support/service.js';
import { rawReply } from '../support/raw-client.js';

const wide = steadyStore(400, 6);
const SETTLED = NOW_S - 7200;

const depth = new MemoryDepth().add('mainchain', WIDE_MINT, wide, { perSegment: 24 });
const service = await heldService({ depth, fragments: true });
const fragments = service.fragments as Fragments;

async function raw(path: string, encoding: string): Promise<Buffer> {
  const headers = { 'x-api-key': KEY, 'accept-encoding': encoding };
  return (await rawReply(`${service.server.url}/api/v1${path}`, headers)).body;
}

/** Not checked against the API's description: that takes longer than the page. */
const get = (path: string, encoding: string): Promise<Response> =>
  fetch(`${service.server.url}/api/v1${path}`, {
    headers: { 'x-api-key': KEY, 'accept-encoding': encoding },
  });

const plain = (path: string): Promise<string> =>
  get(path, 'identity').then((reply) => reply.text());

describe('Repr-Digest', () => {
  const path = `/replay/${WIDE_MINT}?from=${NOW_S - 90_000}&to=${SETTLED}&group=all`;
  const digestOf = async (encoding: string, wanted: string): Promise<string | null> => {
    const headers = { 'x-api-key': KEY, 'accept-encoding': encoding, 'want-repr-digest': wanted };
    const reply = await fetch(`${service.server.url}/api/v1${path}`, { headers });
    expect(reply.status).toBe(200);
    await reply.arrayBuffer();
    return reply.headers.get('repr-digest');
  };
  const expected = async (encoding: string, algorithm: 'sha256' | 'sha512') =>
    createHash(algorithm)
      .update(await raw(path, encoding))
      .digest('base64');

  it.each(['identity', 'gzip', 'br'])('covers the bytes as sent: %s', async (encoding) => {
    for (let round = 0; round < 3; round++) {
      expect(await digestOf(encoding, 'sha-256=1')).toBe(
        `sha-256=:${await expected(encoding, 'sha256')}:`,
      );
      await fragments.idle();
    }
  });

  it.each([
    ['sha-512=3, sha-256=1', 'sha-512'],
    ['md5=10,  sha-256 = 2 ', 'sha-256'],
    ['sha-256=5, sha-512=5', 'sha-256'],
    ['sha-256=0, sha-512=1', 'sha-512'],
    ['sha-256=0', null],
    ['unixsum=1', null],
    ['sha-256', null],
    ['sha-256=11;;', null],
  ] as const)('%j asks for %s', async (wanted, algorithm) => {
    const sent = await expected('gzip', algorithm === 'sha-512' ? 'sha512' : 'sha256');
    expect(await digestOf('gzip', wanted)).toBe(algorithm && `${algorithm}=:${sent}:`);
  });

  it('is sent only on request', async () => {
    const reply = await get(path, 'gzip');
    await reply.arrayBuffer();
    expect(reply.headers.has('repr-digest')).toBe(false);
  });
});

/** Repeats the request until the fragments are there. */
async function warm(path: string, encoding: string): Promise<void> {
  for (let i = 0; i < 2; i++) {
    await (await get(path, encoding)).arrayBuffer();
    await fragments.idle();
  }
}

describe('a page from fragments', () => {
  const encoding = 'gzip';
  it.each(['market', 'all'])('with group=%s needs no thread and no segment', async (group) => {
    const path = (from: number) =>
      `/replay/${WIDE_MINT}?from=${from}&to=${NOW_S + 1}&group=${group}`;
    const first = wide.snapshots[0].t;
    await warm(path(first), encoding);
    await warm(path(wide.snapshots[280].t), encoding);
    for (const s of [0, 1, 23, 24, 112, 399]) {
      const text = await plain(path(wide.snapshots[s].t));
      const before = service.pool.postedTasks;
      service.depth.reads.length = 0;
      const body = await raw(path(wide.snapshots[s].t), encoding);
      expect([service.pool.postedTasks, service.depth.reads]).toEqual([before, []]);
      expect(zlib.gunzipSync(body).toString() === text).toBe(true);
    }
  });

  it('has the weak tag of the page that the pool makes, however the data is cut into segments', async () => {
    const path = `/replay/${WIDE_MINT}?from=${wide.snapshots[3].t}&to=${SETTLED - 60}`;
    const ask = (headers: Record<string, string> = {}, method = 'GET') =>
      checkedFetch(`${service.server.url}/api/v1${path}`, {
        method,
        headers: { 'x-api-key': KEY, 'accept-encoding': encoding, ...headers },
      });
    service.depth.compact(WIDE_MINT, 20);
    const tags: string[] = [];
    const bodies: Buffer[] = [];
    for (let i = 0; i < 3; i++) {
      bodies.push(await raw(path, encoding));
      await fragments.idle();
      const head = await ask({}, 'HEAD');
      tags.push(head.headers.get('etag') as string);
      await fragments.idle();
      if (i === 2) expect(head.headers.get('content-length')).toBe(String(bodies[2].length));
    }
    expect(tags[0]).toMatch(/^W\/"/);
    expect(new Set(tags).size).toBe(1);
    expect(bodies[0].equals(bodies[2])).toBe(false);
    const [text, other] = [bodies[0], bodies[2]].map((body) => zlib.gunzipSync(body).toString());
    expect(text === other).toBe(true);
    for (const perSegment of [20, 24]) {
      service.depth.compact(WIDE_MINT, perSegment);
      const same = await ask({ 'if-none-match': tags[0] });
      expect([same.status, same.headers.get('etag')]).toEqual([304, tags[0]]);
    }
  });
});

it.each(['min_pct=-49', 'venues=orca', 'group=venue'])(
  'every other page with %s uses the pool',
  async (query) => {
    const path = `/replay/${WIDE_MINT}?from=${NOW_S - 86_400}&to=${SETTLED}&${query}`;
    await warm(path, 'gzip');
    const before = service.pool.postedTasks;
    await get(path, 'gzip');
    expect(service.pool.postedTasks).toBe(before + 1);
  },
);

it('a repeated page uses the files of its fragments, which are removed last', async () => {
  const path = `/replay/${WIDE_MINT}?from=${wide.snapshots[50].t}&to=${SETTLED - 1200}`;
  service.depth.compact(WIDE_MINT, 26);
  await warm(path, 'gzip');
  const bodies = [await raw(path, 'gzip')];
  const assembled = vi.spyOn(fragments, 'page');
  const touched = vi.spyOn(fragments.store, 'touch');
  bodies.push(await raw(path, 'gzip'));
  expect(assembled).not.toHaveBeenCalled();
  const [keys] = touched.mock.calls[0];
  for (const spy of [assembled, touched]) spy.mockRestore();
  expect(bodies[1].equals(bodies[0])).toBe(true);
  const { segmentIds } = await service.depth.plan({
    tokenId: service.depth.token('mainchain', WIDE_MINT)!.tokenId,
    fromS: wide.snapshots[50].t,
    toS: SETTLED - 1200,
    nowS: NOW_S,
    maxSnapshots: 288,
  });
  expect(keys).toEqual(segmentIds.map((segmentId) => ({ segmentId, group: 'market' })));
});

describe('a client that takes both codings', () => {
  const both = 'gzip, deflate, br';
  const path = `/replay/${WIDE_MINT}?from=${wide.snapshots[30].t}&to=${SETTLED - 600}`;
  const unlessMatching = (tag: string, encoding: string) => {
    const headers = { 'x-api-key': KEY, 'accept-encoding': encoding, 'if-none-match': tag };
    return fetch(`${service.server.url}/api/v1${path}`, { headers });
  };
  const codingAndTag = async (url: string, encoding = both) => {
    const reply = await get(url, encoding);
    await reply.arrayBuffer();
    return [reply.headers.get('content-encoding'), reply.headers.get('etag')];
  };

  it('gets gzip, made by the pool or from fragments, and 304 for the tag of either coding', async () => {
    // Other segments, of which there are no fragments yet.
    service.depth.compact(WIDE_MINT, 31);
    for (let i = 0; i < 3; i++) {
      expect((await codingAndTag(path))[0]).toBe('gzip');
      await fragments.idle();
    }
    const before = service.pool.postedTasks;
    const [, gzipTag] = await codingAndTag(path);
    expect(service.pool.postedTasks).toBe(before);
    const [brotli, brotliTag] = await codingAndTag(path, 'br');
    expect([brotli, service.pool.postedTasks]).toEqual(['br', before + 1]);
    expect(brotliTag).not.toBe(gzipTag);
    // Whichever form the client has kept is still good.
    for (const tag of [gzipTag, brotliTag] as string[]) {
      const again = await unlessMatching(tag, both);
      expect([again.status, again.headers.get('etag')]).toEqual([304, tag]);
    }
    // But not a form that it does not take.
    const other = await unlessMatching(brotliTag as string, 'gzip, br;q=0');
    expect([other.status, other.headers.get('content-encoding')]).toEqual([200, 'gzip']);
    await other.arrayBuffer();
  });

  it('gets the one that it prefers', async () => {
    for (const [header, coding] of [
      ['gzip, br;q=0.9', 'gzip'],
      ['br, gzip;q=0.9', 'br'],
    ]) {
      const reply = await get(`${path}&venues=orca`, header);
      await reply.arrayBuffer();
      expect(reply.headers.get('content-encoding')).toBe(coding);
    }
  });
});

describe('a page from fragments that is repeated', () => {
  const from = wide.snapshots[200].t;
  const path = (to: number) => `/replay/${WIDE_MINT}?from=${from}&to=${to}`;
  const settled = path(NOW_S - 3600);
  const plans = vi.spyOn(service.depth, 'plan');
  /** How many plans one more request makes, and what it gets. */
  const again = async (url: string) => {
    plans.mockClear();
    const { headers, body } = await rawReply(`${service.server.url}/api/v1${url}`, {
      'x-api-key': KEY,
      'accept-encoding': 'gzip',
    });
    const { etag } = headers;
    return { plans: plans.mock.calls.length, etag, text: zlib.gunzipSync(body).toString() };
  };

  it('is kept as it was sent, until what is stored changes', async () => {
    await warm(settled, 'gzip');
    const first = await again(settled);
    expect(first.text).toBe(await plain(settled));
    for (let i = 0; i < 3; i++) expect(await again(settled)).toEqual({ ...first, plans: 0 });
    const { text } = await again(`${settled}&group=all`);
    expect(text).toBe(await plain(`${settled}&group=all`));
    // The same cells in other segments, then with another price.
    service.depth.compact(WIDE_MINT, 29);
    expect(await again(settled)).toEqual({ ...first, plans: 1 });
    wide.snapshots[210] = { ...wide.snapshots[210], price: 2 * wide.snapshots[210].price };
    service.depth.compact(WIDE_MINT, 24);
    await warm(settled, 'gzip');
    const changed = await again(settled);
    expect(changed.text).toBe(await plain(settled));
    expect(changed.text).not.toBe(first.text);
    expect(changed.etag).not.toBe(first.etag);
  });

  it('is made again as long as time may change it', async () => {
    const recent = path(NOW_S - 3599);
    await warm(recent, 'gzip');
    for (let i = 0; i < 3; i++) expect((await again(recent)).plans).toBe(1);
    const stepped = `${settled}&step=1h`;
    await warm(stepped, 'gzip');
    expect((await again(stepped)).plans).toBe(1);
  });

  it('gives 304 for its tag and for that of another coding', async () => {
    await warm(settled, 'gzip');
    const tags = await Promise.all(
      ['gzip', 'br'].map(async (coding) => {
        const reply = await get(settled, coding);
        await reply.arrayBuffer();
        return reply.headers.get('etag') as string;
      }),
    );
    for (const tag of tags) {
      const headers = { 'x-api-key': KEY, 'accept-encoding': 'gzip, br', 'if-none-match': tag };
      const { status } = await fetch(`${service.server.url}/api/v1${settled}`, { headers });
      expect(status).toBe(304);
    }
  });
});
