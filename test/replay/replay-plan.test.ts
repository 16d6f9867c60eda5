import { describe, expect, it } from 'vitest';
import { frozenClock } from '../../server/clock.js';
import { Budget } from '../../server/http/budget.js';
import { replayPlanHandler } from '../../server/replay/replay-plan.js';
import type { PagePlan, PlanRequest } from '../../storage/contract.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { MINT, NOW_S, WIDE_MINT, heldService, steadyStore } from '../support/service.js';

const UNKNOWN = 'UNKnown1111111111111111111111111111111111111';
const MAX_PAGES = 500;

interface Plan {
  window: { from: number; to: number };
  page_count: number;
  snapshot_count: number;
  row_count: number;
  pages: { from: number; snapshot_count: number; row_count: number; approx_bytes: number }[];
  next_from: number | null;
}
interface Page {
  next_from: number | null;
  snapshot_count: number;
  row_count: number;
  snapshots: { t: number }[];
}

const depth = new MemoryDepth().add('mainchain', MINT, steadyStore(40, 3));
depth.add('mainchain', WIDE_MINT, steadyStore(600, 60), { perSegment: 24 });
const service = await heldService({ depth });

const json = async <T>(path: string): Promise<T> => {
  const reply = await service.get(path);
  expect(reply.status).toBe(200);
  return (await reply.json()) as T;
};

describe('GET /replay/:address/plan', () => {
  it.each([
    '',
    'group=all',
    'group=type&min_pct=-20&max_pct=20',
    'types=cex_spot',
    'venues=orca,phoenix-v1&group=venue',
    `from=${NOW_S - 30_000}&to=${NOW_S - 9000}`,
  ])('names the pages that paging gives (%s)', async (parameters) => {
    const plan = await json<Plan>(`/replay/${WIDE_MINT}/plan?${parameters}`);
    const rest = new URLSearchParams(parameters);
    rest.delete('from');
    rest.set('to', String(plan.window.to));
    const page = (from: number) =>
      json<Page & Record<string, unknown>>(`/replay/${WIDE_MINT}?from=${from}&${rest}`);
    const paged = [];
    for (let from: number | null = plan.window.from; from !== null;) {
      const one: Page = await page(from);
      paged.push({ from, snapshot_count: one.snapshot_count, row_count: one.row_count });
      from = one.next_from;
    }
    expect(paged.length).toBeGreaterThan(1);
    expect(plan.pages.map(({ approx_bytes: _bytes, ...counts }) => counts)).toEqual(paged);
    expect(plan).toMatchObject({
      page_count: paged.length,
      snapshot_count: paged.reduce((sum, { snapshot_count: count }) => sum + count, 0),
      row_count: paged.reduce((sum, { row_count: count }) => sum + count, 0),
      next_from: null,
    });
    for (const { from, approx_bytes: bytes } of plan.pages.slice(0, 2)) {
      const size = JSON.stringify(await page(from)).length;
      expect(bytes / size).toBeGreaterThan(0.5);
      expect(bytes / size).toBeLessThan(2);
    }
  });

  it('counts what a step keeps', async () => {
    const query = `from=${NOW_S - 30_000}&to=${NOW_S}&step=5m`;
    const page = await json<Page>(`/replay/${WIDE_MINT}?${query}`);
    const { snapshot_count, row_count } = page;
    expect(snapshot_count).toBe(101);
    expect(await json<Plan>(`/replay/${WIDE_MINT}/plan?${query}`)).toMatchObject({
      pages: [{ from: NOW_S - 30_000, snapshot_count, row_count }],
      next_from: null,
    });
  });

  it('ends after 500 pages, and can be continued from there', async () => {
    // One snapshot a minute, each as large as a page can be.
    const first = NOW_S - 60 * (MAX_PAGES + 2);
    // Many markets: fewer could not have so many cells.
    const [market] = steadyStore(1, 1).markets;
    const markets = Array.from({ length: 1000 }, () => market);
    const depth = {
      token: () => ({ tokenId: 1, chain: 'mainchain', address: MINT }),
      mainchainLeg: () => null,
      plan: ({ fromS, toS, maxSnapshots }: PlanRequest): Promise<PagePlan> => {
        const times = Array.from({ length: MAX_PAGES + 3 }, (_, i) => first + 60 * i).filter(
          (t) => t >= fromS && t < toS,
        );
        const snapshots = times.slice(0, maxSnapshots).map((t) => ({
          segment: 0,
          row: 0,
          t,
          tier: 'raw' as const,
          bandCells: 100_000,
          digest: 0,
        }));
        const nextT = times[maxSnapshots] ?? null;
        return Promise.resolve({ segmentIds: [1], snapshots, nextT, markets });
      },
      times: () => Promise.resolve({ raw: [], '15m': [], '1h': [] }),
    };
    const services = { depth, clock: frozenClock(NOW_S), inPreparation: new Budget(1) };
    const handler = replayPlanHandler(services as never);
    const planFrom = async (fromS: number): Promise<Plan> => {
      const query = { from: { s: fromS, fromNow: false }, min_pct: -50, max_pct: 100 };
      const token = { chain: 'mainchain', address: MINT };
      const call = { query, token, key: { id: 'key' }, exchange: { aborted: false } };
      return (await handler(call as never)) as Plan;
    };
    const plan = await planFrom(first - 5);
    expect([plan.page_count, plan.next_from]).toEqual([MAX_PAGES, first + 60 * MAX_PAGES]);
    expect(plan.pages[0].from).toBe(first - 5);
    const rest = await planFrom(plan.next_from ?? 0);
    // The window ends in the past.
    expect(rest.pages.map(({ from }) => from)).toEqual([NOW_S - 120, NOW_S - 60]);
    expect(rest.next_from).toBe(null);
  });

  it('has only what is in the window, and no page for an unknown token', async () => {
    expect(await json(`/replay/${MINT}/plan`)).toMatchObject({
      group: 'market',
      // The window ends before the newest snapshot.
      snapshot_count: 39,
      gaps: [],
    });
    const empty = { page_count: 0, snapshot_count: 0, row_count: 0, pages: [], next_from: null };
    expect(await json(`/replay/${UNKNOWN}/plan`)).toMatchObject(empty);
    expect(await json(`/replay/${MINT}/plan?from=-3d&to=-2d`)).toMatchObject(empty);
  });
});
