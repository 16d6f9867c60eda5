import { describe, expect, it } from 'vitest';
import { spansOfPlan, startOfPlan } from '../../server/replay/page-plan.js';
import type { DepthSource } from '../../storage/contract.js';
import { depthOf, FragmentsFixture, identityOf, pageOf } from '../support/fragments.js';
import { MINT, NOW_S, steadyStore } from '../support/service.js';
import { settingsOf } from '../support/settings.js';

const here = FragmentsFixture.forEach();
const { snapshots } = steadyStore(60, 34);
/** Segments of 24 snapshots. */
const ofLongSegments = () => depthOf(steadyStore(60, 34), 24);

function planOf(depth: DepthSource) {
  const tokenId = depth.token('mainchain', MINT)?.tokenId as number;
  const window = { fromS: NOW_S - 86_400, toS: NOW_S + 1, nowS: NOW_S };
  return depth.plan({ tokenId, ...window, maxSnapshots: 288 });
}

describe('a page of a plan', () => {
  const { query } = identityOf();
  const market = steadyStore(1, 1).markets[0];
  const planned = (
    places: [segment: number, row: number, bandCells: number][],
    nextT: number | null,
  ) => ({
    segmentIds: [7, 9],
    snapshots: places.map(([segment, row, bandCells], i) => {
      return { segment, row, bandCells, digest: 0, t: 100 + i, tier: 'raw' as const };
    }),
    nextT,
    // Enough for the plan's own cells to be the limit.
    markets: Array.from({ length: 1000 }, () => market),
  });

  it('is cut at the end of a segment and at a row that is left out', () => {
    const plan = planned(
      [
        [0, 3, 1],
        [0, 4, 1],
        [0, 6, 1],
        [1, 7, 1],
        [1, 8, 1],
        [0, 9, 1],
      ],
      200,
    );
    const { length, nextT } = startOfPlan(plan, query);
    expect({ spans: spansOfPlan(plan, length), nextFrom: nextT }).toEqual({
      spans: [
        { segment: 0, first: 3, end: 5, t: 100 },
        { segment: 0, first: 6, end: 7, t: 102 },
        { segment: 1, first: 7, end: 9, t: 103 },
        { segment: 0, first: 9, end: 10, t: 105 },
      ],
      nextFrom: 200,
    });
  });

  it('ends before the snapshot that would make it too large', () => {
    const plan = planned(
      [
        [0, 0, 99_999],
        [0, 1, 1],
        [0, 2, 1],
      ],
      null,
    );
    expect(startOfPlan(plan, query)).toEqual({ length: 2, cells: 100_000, nextT: 102 });
    expect(startOfPlan(plan, { ...query, group: 'all' }).nextT).toBeNull();
    const tooLarge = planned([[0, 0, 100_001]], 300);
    expect(startOfPlan(tooLarge, query)).toEqual({ length: 0, cells: 0, nextT: 100 });
  });
});

describe('fragments', () => {
  it('are made at the second miss, and only those', async () => {
    const depth = ofLongSegments();
    const fragments = here.open(depth, null);
    const late = { from: snapshots[50].t };
    expect(await pageOf(fragments, depth)).toBeNull();
    await fragments.idle();
    expect(await pageOf(fragments, depth, late)).toBeNull();
    await fragments.idle();
    depth.reads.length = 0;
    expect(await pageOf(fragments, depth, late)).not.toBeNull();
    expect(await fragments.page(await planOf(depth), identityOf())).toBeNull();
    await fragments.idle();
    expect(depth.reads.flat().length).toBe(3);
    expect(await pageOf(fragments, depth)).not.toBeNull();
  });

  it('of a damaged segment are tried once', async () => {
    const depth = ofLongSegments();
    const plan = await planOf(depth);
    depth.readSegments = (ids) => Promise.resolve(ids.map(() => Uint8Array.of(1, 2, 3)));
    const fragments = here.open(depth, null);
    for (let i = 0; i < 5; i++) {
      expect(await fragments.page(plan, identityOf())).toBeNull();
      await fragments.idle();
    }
    expect(here.logged.splice(0).length).toBe(plan.segmentIds.length);
  });

  it('of intact segments are made beside a damaged one', async () => {
    const depth = ofLongSegments();
    const plan = await planOf(depth);
    const [damaged] = plan.segmentIds;
    const read = depth.readSegments.bind(depth);
    depth.readSegments = async (ids) =>
      (await read(ids)).map((block, i) => (ids[i] === damaged ? Uint8Array.of(1, 2) : block));
    const fragments = here.open(depth, null);
    for (let i = 0; i < 2; i++) {
      expect(await fragments.page(plan, identityOf())).toBeNull();
      await fragments.idle();
    }
    expect(here.logged.splice(0).length).toBe(1);
    depth.reads.length = 0;
    // The pages of the other segments are there.
    expect(await pageOf(fragments, depth, { from: snapshots[24].t })).not.toBeNull();
  });

  it('of both groupings are made from one read', async () => {
    const depth = ofLongSegments();
    const fragments = here.open(depth, null);
    const plan = await planOf(depth);
    const ask = () =>
      (['market', 'all'] as const).map((group) => {
        const { query, ...identity } = identityOf();
        return fragments.page(plan, { ...identity, query: { ...query, group } });
      });
    expect(ask()).toEqual([null, null]);
    depth.reads.length = 0;
    expect(ask()).toEqual([null, null]);
    await fragments.idle();
    expect(depth.reads.length).toBe(1);
    expect(ask().every((body) => body !== null)).toBe(true);
  });

  it('stay within their memory', async () => {
    const depth = ofLongSegments();
    const fragments = here.open(depth, null, 300_000);
    for (const from of [0, 24, 48, 0].map((s) => snapshots[s].t)) {
      await pageOf(fragments, depth, { from });
      await fragments.idle();
      await pageOf(fragments, depth, { from });
      await fragments.idle();
      expect(fragments.store.memoryBytes).toBeLessThanOrEqual(300_000);
    }
    expect(fragments.store.memoryBytes).toBeGreaterThan(0);
    expect(await pageOf(fragments, depth, { from: snapshots[48].t })).not.toBeNull();
  });
});

describe('settings', () => {
  it('give the memory of fragments in MiB', () => {
    expect(settingsOf(['--fragments-memory-mib', '64']).memory.fragments).toBe(2 ** 26);
    expect(() => settingsOf(['--fragments-memory-mib', 'all'])).toThrow(
      '--fragments-memory-mib: expected a whole number from 0 to 1048576, not all',
    );
  });

  it('of 0 disable fragments', async () => {
    const depth = ofLongSegments();
    const fragments = here.open(depth, null, 0);
    const before = here.pool.postedTasks;
    for (let i = 0; i < 3; i++) {
      expect(await pageOf(fragments, depth)).toBeNull();
      await fragments.idle();
    }
    expect(here.pool.postedTasks).toBe(before);
  });
});
