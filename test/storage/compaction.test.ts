import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { rewriteSegments } from '../../compute/segment/rewrite.js';
import { COMPACT_SEGMENTS } from '../../storage/depth/compaction.js';
import { SegmentGoneError } from '../../storage/contract.js';
import type { Store } from '../../storage/store.js';
import {
  DataDirectory,
  commitRows,
  openStore,
  orca,
  segmentIds,
  bookCells,
  snapshot,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';

let directory: DataDirectory;
let store: Store;

beforeEach(async () => {
  directory = new DataDirectory();
  store = await openStore(directory.path);
});
afterEach(async () => {
  await store.close();
  directory.remove();
});

const everything = { fromS: 0, toS: 2 ** 32 - 1, nowS: 2 ** 32 - 1, maxSnapshots: 10_000 };

describe('Small segments', () => {
  it('are joined after commits; 72 single snapshots end up in a few segments', async () => {
    const rows = Array.from({ length: 72 }, (_, i) =>
      snapshot(1000 + i * 60, [orca(bookCells(i, 40))]),
    );
    for (const row of rows) await commitRows(store, [row]);
    await store.settled();
    expect((await segmentIds(store)).length).toBeLessThan(2 * COMPACT_SEGMENTS);
    const stored = await storedSnapshots(store, tokenOf(store));
    expect(stored.map(({ t, cells }) => [t, cells])).toEqual(
      rows.map(({ t, markets: [{ cells }] }) => [
        t,
        cells.map(([bin, s, r]) => [0, bin, Math.round(s * 100), Math.round(r * 100)]),
      ]),
    );
    const before = await segmentIds(store);
    await store.close();
    store = await openStore(directory.path);
    expect(await segmentIds(store)).toEqual(before);
    expect(await storedSnapshots(store, tokenOf(store))).toEqual(stored);
  });

  it('are joined in tokens that took snapshots out of order, too', async () => {
    const times = Array.from({ length: 40 }, (_, i) => 1000 + ((i * 37) % 40) * 60);
    for (const t of times) await commitRows(store, [snapshot(t)]);
    await store.settled();
    expect((await segmentIds(store)).length).toBeLessThan(COMPACT_SEGMENTS);
    const stored = await storedSnapshots(store, tokenOf(store));
    expect(stored.map(({ t }) => t)).toEqual([...times].sort((a, b) => a - b));
  });

  it('planned by a reader are gone for it, never replaced by other data', async () => {
    for (let i = 0; i < COMPACT_SEGMENTS - 1; i++) await commitRows(store, [snapshot(100 + i)]);
    const plan = await store.depth.plan({ tokenId: tokenOf(store), ...everything });
    expect(await store.depth.readSegments(plan.segmentIds)).toHaveLength(COMPACT_SEGMENTS - 1);
    await commitRows(store, [snapshot(500)]);
    await store.settled();
    for (const ids of [plan.segmentIds, plan.segmentIds.slice(0, 1)]) {
      await expect(store.depth.readSegments(ids)).rejects.toBeInstanceOf(SegmentGoneError);
    }
    const again = await store.depth.plan({ tokenId: tokenOf(store), ...everything });
    expect(again.snapshots).toHaveLength(COMPACT_SEGMENTS);
    expect(await store.depth.readSegments(again.segmentIds)).toHaveLength(again.segmentIds.length);
  });

  it('are looked up again if joined while prices are read', async () => {
    const rows = Array.from({ length: 30 }, (_, i) =>
      snapshot(100 + i, [orca()], { price_usd: 1 + i }),
    );
    const keys = rows.map(({ chain, address, tier, t }) => ({ chain, address, tier, t }));
    for (const row of rows) {
      await commitRows(store, [row]);
      const prices = await store.snapshotPrices(keys);
      expect([...prices]).toEqual(rows.map((r) => (r.t <= row.t ? r.price_usd : NaN)));
    }
  });

  it('stay if joining them fails, and the store goes on', async () => {
    await store.close();
    const failures: unknown[] = [];
    store = await openStore(directory.path, {
      rewrite: (input) =>
        input.added === null
          ? Promise.reject(new Error('no joining today'))
          : Promise.resolve(rewriteSegments(input)),
      onBackgroundError: (error) => failures.push(error),
    });
    for (let i = 0; i < COMPACT_SEGMENTS + 2; i++) await commitRows(store, [snapshot(100 + i)]);
    await store.settled();
    expect(failures.map(String)).toEqual(new Array(3).fill('Error: no joining today'));
    expect(await storedSnapshots(store, tokenOf(store))).toHaveLength(COMPACT_SEGMENTS + 2);
  });
});
