import { afterEach, describe, expect, it } from 'vitest';
import { encodeSegment } from '../../compute/segment/segment.js';
import { workLimits } from '../../compute/scheduler.js';
import { runOf } from '../compute/replay-stores.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { RawClient, requestText } from '../support/raw-client.js';
import {
  ENTERPRISE_KEY,
  MINT,
  NOW_S,
  WIDE_MINT,
  heldService,
  steadyStore,
} from '../support/service.js';
import { eventually } from '../support/waiting.js';

/** The light key's token has one segment, recognized by its id. */
const LIGHT = `/replay/${MINT}?group=type&to=${NOW_S - 60}`;
const FLOOD = `/replay/${WIDE_MINT}?group=venue`;
const FROM_FRAGMENTS = `/replay/${WIDE_MINT}?group=market&to=${NOW_S - 60}`;
const IN_WORK = workLimits(1).page.inWork;
const WAITING_PER_KEY = 48;

let flooding: Promise<Response>[] = [];
let resume = () => {};

const light = (path: string, headers = {}, method = 'GET'): Promise<Response> =>
  service.get(path, { method, headers: { 'x-api-key': ENTERPRISE_KEY, ...headers } });
const lightReads = (): number =>
  service.depth.reads.filter((ids) => String(ids) === String(lightSegments)).length;

const depth = new MemoryDepth().add('mainchain', MINT, steadyStore(10, 2), { perSegment: 10 });
depth.add('mainchain', WIDE_MINT, steadyStore(48, 34), { perSegment: 24 });
const service = await heldService({
  depth,
  threads: 1,
  fragments: true,
  // Pages in work show by what they read.
  blockBytes: 0,
  // One more than the flood: a page that waits beside it shows by what is refused after it.
  pageLimits: {
    maxWaiting: WAITING_PER_KEY + 1,
    maxWaitingPerKey: WAITING_PER_KEY,
    maxExpectedWaitMs: Infinity,
  },
});
for (let i = 0; i < 2; i++) {
  await (await light(FROM_FRAGMENTS, { 'accept-encoding': 'gzip' })).arrayBuffer();
  await service.fragments?.idle();
}
service.depth.reads.length = 0;
await (await light(LIGHT)).arrayBuffer();
const [lightSegments] = service.depth.reads;
afterEach(async () => {
  resume();
  await Promise.all(flooding.map(async (page) => (await page).arrayBuffer()));
});

/** As many pages as one key may have, none of which ends before `resume`; the next is refused. */
async function flood(): Promise<void> {
  const { depth } = service;
  depth.reads.length = 0;
  const gate = new Promise<void>((open) => (resume = open));
  depth.beforeRead = () => gate;
  flooding = Array.from({ length: IN_WORK + WAITING_PER_KEY + 1 }, () =>
    service.get(FLOOD, { headers: { 'accept-encoding': 'identity' } }),
  );
  const { status } = await Promise.race(flooding);
  expect(status).toBe(503);
  expect(depth.reads).toHaveLength(IN_WORK);
}

describe('while one key floods the pool with pages', () => {
  it("another key's page is not refused while there is a place, and comes next", async () => {
    await flood();
    const page = light(LIGHT);
    await eventually('it waits', () => service.pool.waiting('page') === WAITING_PER_KEY + 1);
    const refused = await light(LIGHT);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    resume();
    expect((await page).status).toBe(200);
    // Before all waiting ones, behind those that were already in work.
    expect(service.depth.reads[IN_WORK]).toEqual(lightSegments);
  });

  it('pages from fragments, 304 and HEAD are answered without waiting', async () => {
    const { headers } = await light(LIGHT);
    await flood();
    const assembled = await light(FROM_FRAGMENTS, { 'accept-encoding': 'gzip' });
    expect(assembled.status).toBe(200);
    const tag = headers.get('etag') as string;
    expect((await light(LIGHT, { 'if-none-match': tag })).status).toBe(304);
    const head = await light(LIGHT, {}, 'HEAD');
    expect([head.status, head.headers.get('etag')]).toEqual([200, tag]);
    for (const name of ['content-type', 'content-encoding', 'cache-control', 'vary']) {
      expect(head.headers.get(name)).toBe(headers.get(name));
    }
    expect(service.depth.reads).toHaveLength(IN_WORK);
  });

  it('a client that disconnects while its page waits frees its place', async () => {
    await flood();
    const client = await RawClient.connect(service.server.port);
    client.send(requestText(`GET /api/v1${LIGHT}`, { 'x-api-key': ENTERPRISE_KEY }));
    await eventually('its page waits', () => service.pool.waiting('page') === WAITING_PER_KEY + 1);
    client.socket.destroy();
    await eventually('its place is free', () => service.pool.waiting('page') === WAITING_PER_KEY);
    const page = light(LIGHT);
    await eventually('it is taken', () => service.pool.waiting('page') === WAITING_PER_KEY + 1);
    resume();
    expect([(await page).status, lightReads()]).toEqual([200, 1]);
  });

  it('other tasks run after the pages in work, not after the whole flood', async () => {
    await flood();
    const { snapshots } = steadyStore(24, 34);
    const stored = [snapshots.slice(0, 12), snapshots.slice(12)].map(
      (part) => new Uint8Array(encodeSegment(runOf('raw', part))),
    );
    resume();
    const input = { stored, added: null, mode: 'merge' as const };
    const { status } = await service.pool.run('rewriteSegments', input);
    expect(status).toBe('done');
    expect(service.depth.reads.length).toBeLessThanOrEqual(2 * IN_WORK + 2);
  });
});
