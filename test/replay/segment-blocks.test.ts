import { describe, expect, it } from 'vitest';
import { SegmentBlocks } from '../../server/replay/segment-blocks.js';
import { DamageError } from '../../compute/damage.js';
import { SegmentGoneError } from '../../storage/contract.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { MINT, NOW_S, startTestService, steadyStore } from '../support/service.js';
import { settingsOf } from '../support/settings.js';

const WINDOW = { fromS: NOW_S - 86_400, toS: NOW_S + 1, nowS: NOW_S, maxSnapshots: 288 };

function depthOf(): MemoryDepth {
  const depth = new MemoryDepth();
  depth.add('mainchain', MINT, steadyStore(60, 5));
  return depth;
}

const idsOf = async (depth: MemoryDepth) =>
  (await depth.plan({ tokenId: 1, ...WINDOW })).segmentIds;

describe('the blocks of segments', () => {
  it('are read once, in the order of the request', async () => {
    const depth = depthOf();
    const ids = await idsOf(depth);
    const expected = await depth.readSegments(ids);
    depth.reads.length = 0;
    const blocks = new SegmentBlocks(depth, 2 ** 20);
    expect(await blocks.read(ids.slice(2, 4))).toEqual(expected.slice(2, 4));
    expect(await blocks.read(ids)).toEqual(expected);
    expect(await blocks.read([...ids].reverse())).toEqual([...expected].reverse());
    const others = ids.filter((_, i) => i < 2 || i > 3);
    expect(depth.reads).toEqual([ids.slice(2, 4), others]);
  });

  it('stay within their memory: those used last are kept', async () => {
    const depth = depthOf();
    const ids = await idsOf(depth);
    const all = new SegmentBlocks(depth, 2 ** 20);
    await all.read(ids);
    const blocks = new SegmentBlocks(depth, Math.ceil(all.memoryBytes / 2));
    for (const id of ids) {
      await blocks.read([ids[0]]);
      await blocks.read([id]);
      expect(blocks.memoryBytes).toBeLessThanOrEqual(all.memoryBytes / 2 + 1);
    }
    depth.reads.length = 0;
    await blocks.read([ids[0], ids[ids.length - 1]]);
    expect(depth.reads).toEqual([]);
    await blocks.read([ids[1]]);
    expect(depth.reads).toEqual([[ids[1]]]);
  });

  it('go with their segments', async () => {
    const depth = depthOf();
    const ids = await idsOf(depth);
    const blocks = new SegmentBlocks(depth, 2 ** 20);
    await blocks.read(ids);
    const { memoryBytes } = blocks;
    const [gone, ...others] = ids;
    blocks.remove([gone, 1_000_000]);
    expect(blocks.memoryBytes).toBeLessThan(memoryBytes);
    depth.reads.length = 0;
    await blocks.read(others);
    expect(depth.reads).toEqual([]);
    blocks.remove(others);
    expect(blocks.memoryBytes).toBe(0);
  });

  it('are read each time without memory', async () => {
    const depth = depthOf();
    const ids = await idsOf(depth);
    const blocks = new SegmentBlocks(depth, 0);
    depth.reads.length = 0;
    for (let i = 0; i < 3; i++) await blocks.read(ids);
    expect([depth.reads.length, blocks.memoryBytes]).toEqual([3, 0]);
  });

  it('are not kept if reading fails', async () => {
    const depth = depthOf();
    const [id, other] = await idsOf(depth);
    const blocks = new SegmentBlocks(depth, 2 ** 20);
    const read = depth.readSegments.bind(depth);
    for (const error of [new DamageError('damaged'), new SegmentGoneError('gone')]) {
      depth.readSegments = () => Promise.reject(error);
      await expect(blocks.read([id, other])).rejects.toBe(error);
      expect(blocks.memoryBytes).toBe(0);
    }
    depth.readSegments = read;
    expect(await blocks.read([id])).toEqual(await read([id]));
  });

  it('save reading for pages that were made before, in any thread', async () => {
    const depth = depthOf();
    const service = await startTestService({ depth, threads: 2 });
    try {
      const page = async () => {
        const window = `from=${WINDOW.fromS}&to=${NOW_S}&group=venue`;
        const response = await service.get(`/replay/${MINT}?${window}`);
        expect(response.status).toBe(200);
        return response.text();
      };
      const first = await page();
      const reads = depth.reads.length;
      expect(reads).toBeGreaterThan(0);
      for (const text of await Promise.all(Array.from({ length: 8 }, page))) {
        expect(text).toBe(first);
      }
      expect(depth.reads.length).toBe(reads);
      // Other segments have other ids.
      depth.compact(MINT, 7);
      expect(await page()).toBe(first);
      expect(depth.reads.length).toBeGreaterThan(reads);
    } finally {
      await service.stop();
    }
  });

  it('have the memory that the settings give', () => {
    expect(settingsOf(['--blocks-memory-mib', '7']).memory.blocks).toBe(7 * 2 ** 20);
    expect(() => settingsOf(['--blocks-memory-mib', '-1'])).toThrow('--blocks-memory-mib');
  });
});
