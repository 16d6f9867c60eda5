/** The folder of fragments: its bound, what it evicts, and the format of its files. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  FRAGMENTS_VERSION,
  type FragmentsKey,
  packFragments,
  unpackFragments,
} from '../../compute/replay/fragment-file.js';
import { makeFragments } from '../../compute/replay/fragment-maker.js';
import { encodeSegment } from '../../compute/segment/segment.js';
import { FRAGMENT_FILES } from '../../storage/fragment-files.js';
import { runOf } from '../compute/replay-stores.js';
import {
  depthOf,
  FragmentsFixture,
  BY_MARKET,
  packed,
  pageOf,
  warm,
} from '../support/fragments.js';
import { steadyStore } from '../support/service.js';
import { hasSmallDisks, SmallDisk } from '../support/small-disk.js';

const here = FragmentsFixture.forEach();

describe('packed fragments', () => {
  it('unpack to the same fragments, and only with the same key', () => {
    const { snapshots, markets } = steadyStore(5, 10);
    const segment = encodeSegment(runOf('raw', snapshots));
    for (const group of ['market', 'all'] as const) {
      const made = makeFragments({ segment, group, marketCount: markets.length });
      const key = { segmentId: 2 ** 40 + 7, group };
      const bytes = packFragments(key.segmentId, made);
      expect(unpackFragments(bytes, key)).toEqual(made);
      expect(unpackFragments(bytes, { ...key, segmentId: 7 })).toBeNull();
      const other = group === 'all' ? 'market' : 'all';
      expect(unpackFragments(bytes, { ...key, group: other })).toBeNull();
    }
  });

  it('are refused if any byte differs or is missing', () => {
    const bytes = packed(1);
    const key = { segmentId: 1, ...BY_MARKET };
    const isRefused = (damaged: Uint8Array) => unpackFragments(damaged, key) === null;
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const damaged = Uint8Array.from(bytes);
        damaged[at] ^= flip;
        return isRefused(damaged) && isRefused(bytes.slice(0, at));
      }),
    );
    expect(isRefused(bytes)).toBe(false);
  });

  it('have another version if their bytes change', () => {
    const bytes = packed(1);
    // If this fails, the format has changed: raise FRAGMENTS_VERSION, or the server serves another build's files.
    expect([FRAGMENTS_VERSION, bytes.length, zlib.crc32(bytes)]).toEqual([2, 1783, 1773071765]);
  });
});

describe('the folder', () => {
  const key = (segmentId: number): FragmentsKey => ({ segmentId, ...BY_MARKET });

  it('keeps its bound: evicts unrequested fragments first, those of the oldest segments before others', async () => {
    // One disk block each.
    const bytes = 4096;
    const files = await here.openFiles({ maxBytes: 4 * bytes });
    for (const id of [3, 1, 4, 2]) await files.write(key(id), packed(id));
    files.touch(key(1));
    files.touch(key(2));
    await files.write(key(5), packed(5));
    await files.write(key(6), packed(6));
    await files.write(key(7), packed(7));
    expect([1, 2, 3, 4, 5, 6, 7].filter((id) => files.has(key(id)))).toEqual([1, 2, 6, 7]);
    expect([files.bytes, files.count]).toEqual([4 * bytes, 4]);
    expect(here.names().length).toBe(4);
    await files.write(key(8), packed(8, 20));
    expect(files.bytes).toBeLessThanOrEqual(4 * bytes);
  });

  it('takes unrequested fragments only in place of older unrequested ones', async () => {
    // One disk block each.
    const bytes = 4096;
    const files = await here.openFiles({ maxBytes: 2 * bytes });
    expect(await files.acceptsAhead(1, 1)).toBe(true);
    for (const id of [3, 4]) await files.write(key(id), packed(id));
    expect(await files.acceptsAhead(2, 1)).toBe(false);
    expect(await files.acceptsAhead(5, 1)).toBe(true);
    files.touch(key(3));
    files.touch(key(4));
    expect(await files.acceptsAhead(5, 1)).toBe(false);
  });

  it('holds nothing of removed segments, even if their fragments were just being made', async () => {
    const files = await here.openFiles();
    await files.write(key(1), packed(1));
    await files.write(key(2), packed(2));
    files.remove([1, 3]);
    await files.write(key(3), packed(3));
    await files.settled();
    expect(here.names().map((name) => FRAGMENT_FILES.fileOf(name)?.segmentId)).toEqual([2]);
  });

  it('drops files of unknown segments at the start, and no other files', async () => {
    const files = await here.openFiles();
    for (const id of [1, 2]) await files.write(key(id), packed(id));
    writeFileSync(path.join(here.folder, 'notes.txt'), 'x');
    mkdirSync(path.join(here.folder, 'deeper', 'still'), { recursive: true });
    const again = await here.openFiles({ stored: () => Promise.resolve(new Set([2])) });
    await again.settled();
    const ids = here.names().flatMap((name) => FRAGMENT_FILES.fileOf(name)?.segmentId ?? []);
    expect([again.count, ids]).toEqual([1, [2]]);
    expect(here.names()).toEqual(expect.arrayContaining(['deeper', 'notes.txt']));
  });

  it('is not written to while the disk has too little room, which is logged once', async () => {
    const files = await here.openFiles({ keptFreeBytes: 2 ** 60 });
    const depth = depthOf();
    const fragments = here.open(depth, files);
    await warm(fragments, depth);
    expect(await pageOf(fragments, depth)).not.toBeNull();
    expect([files.count, files.failures, here.troubles.length]).toEqual([0, 3, 1]);
    expect(String(here.troubles[0])).toContain('are left to the store');
  });

  it.skipIf(!hasSmallDisks)('is written to again when a full disk has room', async () => {
    const disk = SmallDisk.make(1) as SmallDisk;
    try {
      const files = await here.openFiles({ directory: disk.path });
      const content = packed(1);
      let id = 1;
      while (!files.inTrouble) await files.write(key(id++), content);
      await files.write(key(id++), content);
      const written = files.count;
      expect(readdirSync(path.join(disk.path, FRAGMENT_FILES.folder)).length).toBe(written);
      expect([here.troubles.length, files.failures]).toEqual([1, 2]);
      disk.resize(4);
      await files.write(key(id), content);
      expect([files.count, here.troubles.length, here.troubles[1]]).toEqual([written + 1, 2, null]);
    } finally {
      disk.remove();
    }
  });
});
