import { describe, expect, it } from 'vitest';
import { rewriteSegments } from '../../compute/segment/rewrite.js';
import { COMPACT_SEGMENTS } from '../../storage/depth/compaction.js';
import { SegmentGoneError } from '../../storage/contract.js';
import {
  commitRows,
  FreshStore,
  orca,
  segmentIds,
  bookCells,
  snapshot,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';

const held = new FreshStore();

const everything = { fromS: 0, toS: 2 ** 32 - 1, nowS: 2 ** 32 - 1, maxSnapshots: 10_000 };

describe('Small segments', () => {
  it.each([
    ['in order', 1],
    ['out of order', 37],
  ])('are joined after commits: 72 single snapshots %s end up in a few', async (_, step) => {
    const rows = Array.from({ length: 72 }, (_, i) =>
      snapshot(1000 + i * 60, [orca(bookCells(i, 40))]),
    );
    for (let i = 0; i < 72; i++) await commitRows(held.store, [rows[(i * step) % 72]]);
    await held.store.settled();
    expect((await segmentIds(held.store)).length).toBeLessThan(2 * COMPACT_SEGMENTS);
    const stored = await storedSnapshots(held.store, tokenOf(held.store));
    expect(stored.map(({ t, cells }) => [t, cells])).toEqual(
      rows.map(({ t, markets: [{ cells }] }) => [
        t,
        cells.map(([bin, s, r]) => [0, bin, Math.round(s * 100), Math.round(r * 100)]),
      ]),
    );
    const before = await segmentIds(held.store);
    await held.reopen();
    expect(await segmentIds(held.store)).toEqual(before);
    expect(await storedSnapshots(held.store, tokenOf(held.store))).toEqual(stored);
  });

  it('are joined in tokens that took snapshots out of order, too', async () => {
    const times = Array.from({ length: 40 }, (_, i) => 1000 + ((i * 37) % 40) * 60);
    for (const t of times) await commitRows(held.store, [snapshot(t)]);
    await held.store.settled();
    expect((await segmentIds(held.store)).length).toBeLessThan(COMPACT_SEGMENTS);
    const stored = await storedSnapshots(held.store, tokenOf(held.store));
    expect(stored.map(({ t }) => t)).toEqual([...times].sort((a, b) => a - b));
  });

  it('planned by a reader fail its read, and are never replaced by other data', async () => {
    for (let i = 0; i < COMPACT_SEGMENTS - 1; i++)
      await commitRows(held.store, [snapshot(100 + i)]);
    const plan = await held.store.depth.plan({ tokenId: tokenOf(held.store), ...everything });
    expect(await held.store.depth.readSegments(plan.segmentIds)).toHaveLength(COMPACT_SEGMENTS - 1);
    await commitRows(held.store, [snapshot(500)]);
    await held.store.settled();
    for (const ids of [plan.segmentIds, plan.segmentIds.slice(0, 1)]) {
      await expect(held.store.depth.readSegments(ids)).rejects.toBeInstanceOf(SegmentGoneError);
    }
    const again = await held.store.depth.plan({ tokenId: tokenOf(held.store), ...everything });
    expect(again.snapshots).toHaveLength(COMPACT_SEGMENTS);
    expect(await held.store.depth.readSegments(again.segmentIds)).toHaveLength(
      again.segmentIds.length,
    );
  });

  it('are looked up again if joined while prices are read', async () => {
    const rows = Array.from({ length: 30 }, (_, i) =>
      snapshot(100 + i, [orca()], { price_usd: 1 + i }),
    );
    const keys = rows.map(({ chain, address, tier, t }) => ({ chain, address, tier, t }));
    for (const row of rows) {
      await commitRows(held.store, [row]);
      const prices = await held.store.snapshotPrices(keys);
      expect([...prices]).toEqual(rows.map((r) => (r.t <= row.t ? r.price_usd : NaN)));
    }
  });

  it('stay if joining them fails, and the store continues', async () => {
    const failures: unknown[] = [];
    await held.reopen({
      rewrite: (input) =>
        input.added === null
          ? Promise.reject(new Error('no joining today'))
          : Promise.resolve(rewriteSegments(input)),
      onBackgroundError: (error) => failures.push(error),
    });
    for (let i = 0; i < COMPACT_SEGMENTS + 2; i++)
      await commitRows(held.store, [snapshot(100 + i)]);
    await held.store.settled();
    expect(failures.map(String)).toEqual(new Array(3).fill('Error: no joining today'));
    expect(await storedSnapshots(held.store, tokenOf(held.store))).toHaveLength(
      COMPACT_SEGMENTS + 2,
    );
  });
});
