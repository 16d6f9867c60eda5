import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TaskLostError, TaskStuckError } from '../../compute/pool.js';
import { renderPage, type SegmentInput } from '../../compute/replay/render.js';
import { settingsOf } from '../support/settings.js';
import { SliceRing, type RingSlice, SegmentColumns } from '../../server/replay/segment-columns.js';
import { readOfPlan } from '../../server/replay/page-plan.js';
import { envelopeOf, plainRequest, queryOf } from '../compute/replay-stores.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { MINT, NOW_S, startTestService, steadyStore } from '../support/service.js';

const REQUEST = plainRequest(NOW_S - 86_400, NOW_S + 1);

function depthOf(price = 1.5): MemoryDepth {
  const depth = new MemoryDepth();
  const store = steadyStore(60, 5);
  depth.add('mainchain', MINT, {
    ...store,
    snapshots: store.snapshots.map((one) => ({ ...one, price })),
  });
  return depth;
}

/** A page's text, and how each of its segments was passed on. */
async function pageOf(columns: SegmentColumns, depth: MemoryDepth) {
  const plan = await depth.plan({
    tokenId: 1,
    fromS: REQUEST.from,
    toS: REQUEST.to,
    nowS: NOW_S,
    maxSnapshots: 288,
  });
  const query = queryOf(REQUEST);
  const part = readOfPlan(plan, query, Infinity);
  const { markets } = plan;
  const forms = new Set<string>();
  const text = await columns.use(part.segmentIds, (segments) => {
    segments.forEach((segment) => forms.add(formOf(segment)));
    const page = {
      query,
      envelope: envelopeOf(REQUEST),
      format: 'json',
      encoding: 'identity',
    } as const;
    const result = renderPage({ ...page, ...part, segments, markets });
    if (result.status !== 'done') throw new Error(result.status);
    return Promise.resolve(Buffer.from(result.body).toString());
  });
  return { text, forms: [...forms], ids: part.segmentIds };
}

function formOf(segment: SegmentInput): 'block' | 'to keep' | 'kept' {
  if (segment instanceof Uint8Array) throw new Error('a block without its checksum');
  if ('keptAt' in segment) return 'kept';
  return segment.fillAt === null ? 'block' : 'to keep';
}

describe('the columns of segments', () => {
  it('are kept at the second request, then make the same page without a read', async () => {
    const depth = depthOf();
    const columns = new SegmentColumns(depth, 2 ** 20);
    const first = await pageOf(columns, depth);
    expect(first.forms).toEqual(['block']);
    const second = await pageOf(columns, depth);
    expect(second).toEqual({ ...first, forms: ['to keep'] });
    expect(columns.size).toBe(first.ids.length);
    const reads = depth.reads.length;
    for (let i = 0; i < 3; i++) {
      expect(await pageOf(columns, depth)).toEqual({ ...first, forms: ['kept'] });
    }
    expect(depth.reads.length).toBe(reads);
  });

  it('are those of the plan: a segment’s replacement is read', async () => {
    const depth = depthOf();
    const columns = new SegmentColumns(depth, 2 ** 20);
    for (let i = 0; i < 3; i++) await pageOf(columns, depth);
    depth.compact(MINT, 7);
    const after = await pageOf(columns, depth);
    expect(after.forms).toEqual(['block']);
    expect(after.text).toBe((await pageOf(new SegmentColumns(depth, 0), depth)).text);
  });

  it('are not kept without room, and few with little', async () => {
    const depth = depthOf();
    const none = new SegmentColumns(depth, 0);
    for (let i = 0; i < 3; i++) expect((await pageOf(none, depth)).forms).toEqual(['block']);
    const few = new SegmentColumns(depth, 16_384);
    const { text } = await pageOf(none, depth);
    for (let i = 0; i < 6; i++) expect((await pageOf(few, depth)).text).toBe(text);
    expect(few.size).toBeGreaterThan(0);
    expect(few.size).toBeLessThan(15);
  });

  it('are read by several tasks at once, and kept by one of them', async () => {
    const depth = depthOf();
    const columns = new SegmentColumns(depth, 2 ** 20);
    const [id] = (await pageOf(columns, depth)).ids;
    const seen: string[] = [];
    await columns.use([id], async ([outer]) => {
      seen.push(formOf(outer));
      await columns.use([id], ([inner]) => Promise.resolve(seen.push(formOf(inner))));
    });
    // The task did not decode: nothing was kept, and the place is free.
    expect(seen).toEqual(['to keep', 'block']);
    expect(columns.size).toBe(0);
  });

  it('are not kept if the task failed or lost its thread; a stuck task keeps its places', async () => {
    const depth = depthOf();
    const columns = new SegmentColumns(depth, 2 ** 20);
    const { ids } = await pageOf(columns, depth);
    const fails = (error: Error) => columns.use(ids, () => Promise.reject(error));
    for (const error of [new Error('damaged'), new TaskLostError('hung')]) {
      await expect(fails(error)).rejects.toThrow(error.message);
      expect(columns.size).toBe(0);
      await pageOf(columns, depth);
    }
    await expect(fails(new TaskStuckError('late'))).rejects.toThrow('late');
    const held = columns.size;
    expect(held).toBe(ids.length);
    expect((await pageOf(columns, depth)).forms).toEqual(['block']);
    expect(columns.size).toBe(held);
  });

  it('are not evicted by a damaged block, whatever size it states', async () => {
    const depth = depthOf();
    const columns = new SegmentColumns(depth, 2 ** 20);
    for (let i = 0; i < 2; i++) await pageOf(columns, depth);
    const held = columns.size;
    expect(held).toBeGreaterThan(0);
    const damaged = Buffer.alloc(64);
    damaged.writeUInt32LE(2 ** 20 - 64);
    depth.readStoredBlocks = (ids) =>
      Promise.resolve(ids.map((segmentId) => ({ segmentId, block: damaged, crc32: 1 })));
    const unknown = 999_999;
    const use = () => columns.use([unknown], () => Promise.resolve(null));
    expect(await use()).toBeNull();
    await expect(use()).rejects.toThrow(`segment ${unknown} is damaged`);
    expect(columns.size).toBe(held);
    expect((await pageOf(columns, depth)).forms).toEqual(['kept']);
  });

  it('save reading pages that were made before, in any thread', async () => {
    const depth = depthOf();
    const service = await startTestService({ depth, threads: 2 });
    try {
      const window = `from=${REQUEST.from}&to=${NOW_S}&group=venue`;
      const page = async () => {
        const response = await service.get(`/replay/${MINT}?${window}`);
        expect(response.status).toBe(200);
        return response.text();
      };
      const first = await page();
      await page();
      const reads = depth.reads.length;
      expect(reads).toBeGreaterThan(0);
      for (const text of await Promise.all(Array.from({ length: 8 }, page))) {
        expect(text).toBe(first);
      }
      expect(depth.reads.length).toBe(reads);
    } finally {
      await service.stop();
    }
  });

  it('have the room that the settings give', () => {
    expect(settingsOf(['--columns-memory-mib', '7']).memory.columns).toBe(7 * 2 ** 20);
    expect(() => settingsOf(['--columns-memory-mib', '4097'])).toThrow(
      '--columns-memory-mib: expected a whole number from 0 to 4096, not 4097',
    );
  });
});

describe('places in a ring', () => {
  const steps = fc.array(
    fc.record({
      bytes: fc.integer({ min: 1, max: 400 }),
      pins: fc.boolean(),
      deletes: fc.boolean(),
      unpins: fc.nat(7),
    }),
    { maxLength: 120, size: 'max' },
  );

  it('never overlap, never exceed the memory, and stay while in use', () => {
    let refused = 0;
    fc.assert(
      fc.property(steps, (list) => {
        const ring = new SliceRing<number>(1000);
        const given = new Map<number, RingSlice>();
        const wrong: string[] = [];
        list.forEach(({ bytes, pins, deletes, unpins }, key) => {
          const inUse = [...given].filter(([, place]) => place.pins > 0);
          const place = ring.add(key, bytes);
          if (place === null) refused++;
          else {
            if (place.bytes < bytes) wrong.push(`${key} got ${place.bytes} of ${bytes} bytes`);
            if (place.offset % 8 !== 0) wrong.push(`${key} lies at ${place.offset}`);
            given.set(key, place);
            place.pins = pins ? 1 : 0;
          }
          for (const [pinned] of inUse) {
            if (ring.get(pinned) === undefined) wrong.push(`${pinned} is gone while in use`);
          }
          for (const one of given.keys()) if (ring.get(one) === undefined) given.delete(one);
          const kept = [...given];
          const ends = kept.map(([, one]) => [one.offset, one.offset + one.bytes]);
          ends.sort((a, b) => a[0] - b[0]);
          ends.forEach(([offset, end], i) => {
            if (end > 1000) wrong.push(`${key}: one ends at ${end}`);
            if (i > 0 && offset < ends[i - 1][1]) wrong.push(`${key}: two overlap at ${offset}`);
          });
          const other = kept[unpins % Math.max(1, kept.length)];
          if (other !== undefined) other[1].pins = 0;
          if (deletes && place !== null && place.pins === 0) ring.delete(key);
        });
        expect(wrong).toEqual([]);
      }),
      { numRuns: 300 },
    );
    expect(refused).toBeGreaterThan(0);
  });

  it('drop the oldest for a new one', () => {
    const ring = new SliceRing<string>(96);
    for (const key of ['a', 'b', 'c']) ring.add(key, 32);
    expect(ring.add('d', 40)?.offset).toBe(0);
    expect(['a', 'b', 'c', 'd'].map((key) => ring.get(key) !== undefined)).toEqual([
      false,
      false,
      true,
      true,
    ]);
    expect(ring.add('e', 97)).toBeNull();
    expect(ring.size).toBe(2);
  });
});
