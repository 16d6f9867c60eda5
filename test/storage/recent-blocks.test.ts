/** Blocks of the last commits are read from memory, byte for byte as in DuckDB. */
import { describe, expect, it, vi } from 'vitest';
import { SegmentGoneError } from '../../storage/contract.js';
import { Archive } from '../../storage/archive/archive.js';
import { RecentBlocks } from '../../storage/depth/recent-blocks.js';
import { Turns } from '../../storage/turns.js';
import { readStoredBlocks } from '../../storage/depth/segments.js';
import { NOW_S } from '../support/service.js';
import { commitDelete, commitRows, MINT, FreshStore, orca, snapshot } from '../support/stores.js';

const blockOf = (segmentId: number, bytes: number) => ({
  segmentId,
  block: new Uint8Array(bytes).fill(segmentId & 255),
  crc32: segmentId,
});

describe('recent blocks', () => {
  it('are the last ones, within 16 MiB', async () => {
    const written = new RecentBlocks();
    for (let id = 1; id <= 1000; id++) written.add(blockOf(id, 64 * 1024));
    const recent = new RecentBlocks();
    recent.add(blockOf(1, 10));
    const turns = new Turns();
    const take = vi.spyOn(turns, 'take');
    await recent.addAll(written, turns);
    expect(take.mock.calls.length).toBeGreaterThan(200);
    const ids = [...recent.get(Array.from({ length: 1000 }, (_, i) => i + 1)).keys()];
    expect(ids.length).toBeGreaterThan(200);
    expect(ids.length * 64 * 1024).toBeLessThanOrEqual(16 * 1024 * 1024);
    expect(ids.at(-1)).toBe(1000);
    expect(ids[0]).toBe(1000 - ids.length + 1);
  });

  it('do not include large ones', () => {
    const recent = new RecentBlocks();
    recent.add(blockOf(1, 64 * 1024 + 1));
    expect(recent.get([1]).size).toBe(0);
  });

  it('stay unchanged when a reader transfers a buffer', () => {
    const recent = new RecentBlocks();
    recent.add(blockOf(7, 100));
    const { buffer } = recent.get([7]).get(7)!.block;
    structuredClone(null, { transfer: [buffer as ArrayBuffer] });
    expect(recent.get([7]).get(7)).toEqual(blockOf(7, 100));
  });
});

describe('a store', () => {
  const held = new FreshStore();

  const plan = async () => {
    const { tokenId } = held.store.depth.token('mainchain', MINT)!;
    return held.store.depth.plan({ tokenId, fromS: 0, toS: NOW_S, nowS: NOW_S, maxSnapshots: 288 });
  };

  it('reads a recent commit without a statement, and again after reopening', async () => {
    await commitRows(held.store, [snapshot(NOW_S - 100), snapshot(NOW_S - 50)]);
    await commitRows(held.store, [snapshot(NOW_S - 10, [orca([[3, 70, 0]])])]);
    const { database } = held.store['parts'];
    const { segmentIds } = await plan();
    expect(segmentIds.length).toBe(2);
    const inDatabase = await readStoredBlocks(database, segmentIds, new Archive());
    const queries = vi.spyOn(database, 'values');
    const read = await held.store.depth.readSegments(segmentIds);
    expect(queries).not.toHaveBeenCalled();
    expect(read).toEqual(segmentIds.map((id) => inDatabase.get(id)?.block));
    await held.reopen();
    expect(await held.store.depth.readSegments(segmentIds)).toEqual(read);
  });

  it('does not read what a commit has removed', async () => {
    await commitRows(held.store, [snapshot(NOW_S - 100), snapshot(NOW_S - 50)]);
    const { segmentIds } = await plan();
    await commitDelete(held.store, { address: MINT, toS: NOW_S });
    await expect(held.store.depth.readSegments(segmentIds)).rejects.toBeInstanceOf(
      SegmentGoneError,
    );
  });
});
