import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { fullSegmentStore } from '../../bench/data/full-segments.js';
import { asOfS, pagePath, type GrowthStore } from '../../bench/data/growth-store.js';
import { tinySegmentStore } from '../../bench/growth/tiny-segments.js';
import { EVERY_S, PAGE_A, sizesOf, START_S, benchAddress } from '../../bench/data/pages.js';
import { decodeSegment } from '../../compute/segment/segment.js';
import { openStore } from '../support/stores.js';
import { temporaryDirectory } from '../support/folders.js';
import { resultsOf } from './program.js';

const folder = temporaryDirectory();

/** Every snapshot of every token, as readers get them. */
async function snapshotsOf({ directory, tokens, snapshots }: GrowthStore) {
  const store = await openStore(directory);
  const found: { t: number; address: string; cells: number; cents: number; markets: number }[] = [];
  for (let token = 0; token < tokens; token++) {
    const address = benchAddress(token);
    const tokenId = store.depth.token('mainchain', address)?.tokenId ?? NaN;
    const window = { fromS: START_S, toS: 2 ** 32 - 1, nowS: 2 ** 32 - 1, maxSnapshots: 10_000 };
    const plan = await store.depth.plan({ tokenId, ...window });
    expect(plan.snapshots.map(({ t }) => t)).toEqual(
      Array.from({ length: snapshots }, (_, s) => START_S + s * EVERY_S),
    );
    for (const block of await store.depth.readSegments(plan.segmentIds)) {
      const run = decodeSegment(block);
      expect(run.address).toBe(address);
      expect(Math.max(...run.market)).toBeLessThan(plan.markets.length);
      for (let s = 0; s < run.t.length; s++) {
        const [from, to] = [run.cellOffsets[s], run.cellOffsets[s + 1]];
        const cents = Float64Array.from(run.supportCents.slice(from, to)).reduce(
          (a, b) => a + b,
          0,
        );
        const markets = plan.markets.length;
        found.push({ t: run.t[s], address, cells: to - from, cents, markets });
      }
    }
  }
  await store.close();
  return found;
}

describe('A generated store', () => {
  it('of full segments holds every token at every time, under its own name', async () => {
    const shape = { name: 'full', directory: path.join(folder, 'full'), pageSnapshots: 50 };
    const store = await fullSegmentStore({ ...shape, tokens: 3, snapshots: 100 });
    expect(store).toMatchObject({ cells: 300 * PAGE_A.cells, segments: 9 });
    const found = await snapshotsOf(store);
    expect(found).toHaveLength(300);
    for (const { cells, markets } of found) {
      expect([cells, markets]).toEqual([PAGE_A.cells, PAGE_A.markets]);
    }
  });

  it('of tiny segments holds one of each snapshot, each with its own amounts', async () => {
    const shape = { name: 'tiny', directory: path.join(folder, 'tiny'), pageSnapshots: 5 };
    const store = await tinySegmentStore({ ...shape, tokens: 3, snapshots: 40 });
    expect(store).toMatchObject({ cells: 120 * 8, segments: 120 });
    const found = await snapshotsOf(store);
    expect(found).toHaveLength(120);
    expect(new Set(found.map(({ cents }) => cents)).size).toBeGreaterThan(110);
    for (let n = 0; n < 50; n++) {
      const query = new URLSearchParams(pagePath(store, n).split('?')[1]);
      expect(Number(query.get('from'))).toBeGreaterThanOrEqual(START_S);
      expect(Number(query.get('to'))).toBeLessThanOrEqual(asOfS(store));
    }
  });

  it('has as many tokens and snapshots as its cells are spread over', () => {
    expect(sizesOf(100_000_000, 1000)).toEqual({ tokens: 1000, snapshots: 288 });
    expect(sizesOf(1_000_000_000, 1000)).toEqual({ tokens: 1000, snapshots: 2882 });
    expect(sizesOf(100_000, 1000)).toEqual({ tokens: 1, snapshots: 288 });
    expect(sizesOf(1, 1000)).toEqual({ tokens: 1, snapshots: 1 });
  });
});

it('npm run bench:growth measures starts and pages', () => {
  const {
    stdout,
    results: { results },
  } = resultsOf<{
    results: Record<'cells' | 'segments', { store: GrowthStore; served: object }[]>;
  }>('growth', ['--smoke'], path.join(folder, 'growth.json'));
  const [small, large] = results.cells;
  expect(large.store.cells).toBeGreaterThanOrEqual(3 * small.store.cells);
  expect(results.cells.map(({ store }) => store.name)).toEqual(['1x', '4x']);
  expect(results.segments.map(({ store }) => store.name)).toEqual(['1x']);
  for (const rows of [results.cells, results.segments]) {
    for (const { served, store } of rows) {
      expect(served).toMatchObject({ pages: 4 });
      for (const name of ['listenMs', 'firstPageMs', 'p50Ms', 'p99Ms', 'bytes']) {
        expect((served as Record<string, number>)[name]).toBeGreaterThan(0);
      }
      expect(store).not.toHaveProperty('key');
    }
  }
  expect(stdout).toContain('Stored cells');
});
