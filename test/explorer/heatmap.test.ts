/** The heatmap's data without a browser: amounts, columns, history, loading. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fathomClient } from '../../client/index.js';
import * as ladder from '../../compute/ladder.js';
import { codeOf, Histogram, scaleTicks, shadeOf, usdOf } from '../../explorer/heatmap/amounts.js';
import * as columns from '../../explorer/heatmap/columns.js';
import type { Column } from '../../explorer/heatmap/columns.js';
import {
  coarser,
  enoughFor,
  HeldRanges,
  stepFor,
  stepName,
} from '../../explorer/heatmap/detail.js';
import { History, lastInSight } from '../../explorer/heatmap/history.js';
import {
  fetchPages,
  fetchSince,
  type Part,
  plan,
  type Source,
} from '../../explorer/heatmap/loader.js';
import { Splits } from '../../explorer/heatmap/split.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { column } from './column.js';
import { KEY, NOW_S, heldService, steadyStore, WIDE_MINT } from '../support/service.js';

const { signal } = new AbortController();
const FROM = NOW_S - 86_400;
const SNAPSHOTS = 700;

let asked: URL[] = [];
const depth = new MemoryDepth().add('mainchain', WIDE_MINT, steadyStore(SNAPSHOTS, 60), {
  perSegment: 24,
});
const service = await heldService({ depth });
const noting: typeof fetch = (url, init) => {
  asked.push(new URL(url));
  return fetch(url, init);
};
const client = fathomClient({ url: service.server.url, key: KEY, fetch: noting });
const source: Source = { client, address: WIDE_MINT, parameters: { group: 'all' } };

async function load(maxSnapshots = 10_000): Promise<{ parts: Part[]; stepS: number }> {
  const window = { from: FROM, to: NOW_S + 1 };
  const planned = await plan(source, window, 0, maxSnapshots, signal);
  const parts: Part[] = [];
  for await (const part of fetchPages(source, planned, signal)) parts.push(part);
  return { parts, stepS: planned.stepS };
}

describe('amounts', () => {
  it('are restored from their codes within 0.04%, and zero as zero', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.01, max: 9e13, noNaN: true }), (usd) => {
        expect(Math.abs(usdOf(codeOf(usd)) / usd - 1)).toBeLessThan(0.0004);
      }),
    );
    expect([codeOf(0), usdOf(0), codeOf(1e300)]).toEqual([0, 0, 65_534]);
  });

  it('have a scale by percentiles, without removed amounts', () => {
    const histogram = new Histogram();
    const codes = Uint16Array.from({ length: 1000 }, (_, i) => codeOf(14 * 1.01 ** i));
    const outlier = Uint16Array.from({ length: 1000 }, () => codeOf(1e12));
    histogram.count(codes, 1);
    const scale = histogram.scale();
    // 30% of the amounts are below 14 * 1.01^300 = 277 USD, 99.7% below 14 * 1.01^997 = 285,000.
    expect(scale).toEqual({ lowUsd: 200, highUsd: 500_000 });
    histogram.count(outlier, 1);
    expect(histogram.scale().highUsd).toBeGreaterThan(1e11);
    histogram.count(outlier, -1);
    expect(histogram.scale()).toEqual(scale);
    expect([50, 200, 10_000, 500_000, 1e9].map((usd) => shadeOf(usd, scale).toFixed(3))).toEqual([
      '0.000',
      '0.000',
      '0.500',
      '1.000',
      '1.000',
    ]);
  });

  it('have labels at both ends of their scale, and at powers of ten where there is room', () => {
    const ticksOf = (lowUsd: number, highUsd: number) => scaleTicks({ lowUsd, highUsd });
    expect(ticksOf(100, 1e6)).toEqual([100, 1000, 10_000, 100_000, 1e6]);
    expect(ticksOf(1000, 5e6)).toEqual([1000, 10_000, 100_000, 5e6]);
    expect(ticksOf(2e6, 5e6)).toEqual([2e6, 5e6]);
    expect(ticksOf(1, 1e9)).toEqual([1, 100, 10_000, 1e6, 1e9]);
  });
});

describe('columns', () => {
  it('have the ladder of the API', () => {
    expect([columns.MIN_BIN, columns.BIN_COUNT]).toEqual([ladder.MIN_BIN, ladder.BIN_COUNT]);
    expect(columns.LN_BIN).toBe(Math.log(ladder.BIN_RATIO));
  });

  it.each(['all', 'venue'] as const)(
    'from Arrow pages hold the same as JSON pages (%s)',
    async (group) => {
      const { client, parameters } = source;
      const window = { from: FROM, to: NOW_S - 41_000 };
      const asked = { ...parameters, ...window, group, min_pct: -20, max_pct: 30 };
      const made: Column[] = [];
      for await (const page of client.replayArrow(WIDE_MINT, asked)) {
        made.push(...columns.columnsOf(page));
      }
      let seen = 0;
      for await (const one of client.snapshots(WIDE_MINT, asked)) {
        const column = made[seen++];
        expect([column.t, column.tier, column.priceUsd]).toEqual([one.t, one.tier, one.priceUsd]);
        const sums = new Map<number, [number, number]>();
        for (const [i, bin] of one.bin.entries()) {
          const [support, resistance] = sums.get(bin) ?? [0, 0];
          sums.set(bin, [support + one.supportUsd[i], resistance + one.resistanceUsd[i]]);
        }
        expect([column.firstBin, column.lastBin]).toEqual([-22, 26]);
        for (let bin = -300; bin <= 300; bin++) {
          expect(columns.codesAt(column, bin)).toEqual((sums.get(bin) ?? [0, 0]).map(codeOf));
        }
      }
      expect([made.length, seen > 10]).toEqual([seen, true]);
    },
  );

  it('find the bin of a price like the API', () => {
    for (let price = 20; price < 500; price *= 1.003) {
      expect(columns.binAt(column(0), Math.log(price))).toBe(ladder.binOfPrice(price, 100));
    }
  });
});

describe('the history', () => {
  it('has the data of the newest pages, each snapshot in a separate slot', () => {
    const page = fc
      .tuple(fc.nat(40), fc.integer({ min: 1, max: 15 }), fc.uniqueArray(fc.nat(14)))
      .map(([from, length, times]) => ({
        from,
        to: from + length,
        times: times.filter((t) => t < length).map((t) => from + t),
      }));
    const max = 20;
    fc.assert(
      fc.property(fc.array(page, { maxLength: 12 }), (pages) => {
        const history = new History(max);
        let expected = new Map<number, number>();
        for (const [i, { from, to, times }] of pages.entries()) {
          times.sort((a, b) => a - b);
          history.replace(
            from,
            to,
            times.map((t) => column(t, 10 + i)),
          );
          for (const t of [...expected.keys()]) if (t >= from && t < to) expected.delete(t);
          for (const t of times) expected.set(t, codeOf(10 + i));
          const newest = [...expected].sort(([a], [b]) => a - b).slice(-max);
          expected = new Map(newest);
          const { held } = history;
          const amounts = held.map((one) => [one.t, columns.codesAt(one, 0)[0]]);
          expect(amounts).toEqual(newest);
          const slots = new Set(held.map(({ slot }) => slot));
          expect(slots.size).toBe(held.length);
          expect([...slots].every((slot) => slot >= 0 && slot < max)).toBe(true);
        }
      }),
    );
  });

  it('drops duplicates, and coarse snapshots that finer ones replace', () => {
    const history = new History();
    history.replace(0, 4000, [column(900, 1, { tier: '15m' }), column(1800, 2, { tier: '15m' })]);
    history.replace(1800, 5000, [column(2000, 3), column(2060, 4)]);
    history.replace(2060, 6000, [column(2060, 5), column(2120, 6)]);
    const amounts = history.held.map((one) => [
      one.t,
      Math.round(usdOf(columns.codesAt(one, 0)[0])),
    ]);
    expect(amounts).toEqual([
      [900, 1],
      [2000, 3],
      [2060, 5],
      [2120, 6],
    ]);
  });

  it('knows the last snapshot in sight, even if others follow', () => {
    const history = new History();
    history.replace(0, 1000, [column(60), column(120), column(180)]);
    const last = (to: number) => lastInSight(history.held, { to })?.t ?? null;
    expect([59, 60, 179, 180, 999].map(last)).toEqual([null, 60, 120, 180, 180]);
  });

  it('ends a snapshot at the next one, or after an interval before a gap', () => {
    const history = new History();
    // The example of docs/definitions.md#coverage.
    history.replace(
      0,
      1000,
      [0, 60, 120, 400, 460].map((t) => column(t)),
    );
    expect(history.intervalS).toBe(60);
    expect(history.held.map(({ until }) => until)).toEqual([60, 120, 180, 460, 520]);
    const at = (t: number) => history.at(t)?.t ?? null;
    expect([-1, 0, 59, 60, 179, 180, 399, 400, 519, 520].map(at)).toEqual([
      null,
      0,
      0,
      60,
      120,
      null,
      null,
      400,
      460,
      null,
    ]);
    history.replace(-9000, 0, [column(-7200, 1, { tier: '1h' }), column(-3600, 1, { tier: '1h' })]);
    expect(history.held.slice(0, 2).map(({ until }) => until)).toEqual([-3600, 0]);
  });

  it('reaches as far in price as its cells', () => {
    const history = new History();
    history.replace(0, 9, [column(0, 1, { firstBin: -3, lastBin: 5 }), column(5)]);
    const { lnLow = 0, lnHigh = 0, from, to } = history.extent() ?? {};
    expect([from, to]).toEqual([0, 10]);
    expect(Math.exp(lnLow)).toBeCloseTo(100 * 1.01 ** -3.5, 9);
    expect(Math.exp(lnHigh)).toBeCloseTo(100 * 1.01 ** 5.5, 9);
  });
});

describe('detail', () => {
  it('is the finest step that gives few enough snapshots', () => {
    const day = 86_400;
    const steps = [3600, day, 7 * day, 30 * day, 347 * day].map((spanS) =>
      stepFor(spanS, 2500, 60),
    );
    expect(steps).toEqual([0, 0, 300, 3600, 14_400]);
    expect(stepFor(day, 2500, 10)).toBe(60);
    expect([0, 60, 14_400, 86_400].map(coarser)).toEqual([60, 300, 86_400, 86_400]);
    expect([0, 900].map(stepName)).toEqual([undefined, '15m']);
    expect([10, 600, 9000].map(enoughFor)).toEqual([300, 1500, 2600]);
  });

  it('finds the missing parts of a window', () => {
    const range = fc.record({
      from: fc.nat(40),
      length: fc.integer({ min: 1, max: 20 }),
      stepS: fc.constantFrom(0, 60, 300),
      isHeld: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(range, { maxLength: 12 }), (changes) => {
        const ranges = new HeldRanges();
        const expected = Array.from({ length: 60 }, () => Infinity);
        for (const { from, length, stepS, isHeld } of changes) {
          if (isHeld) ranges.add({ from, to: from + length, stepS });
          else ranges.remove({ from, to: from + length });
          expected.fill(isHeld ? stepS : Infinity, from, from + length);
        }
        for (const stepS of [0, 60, 300]) {
          const missing = expected.map(() => false);
          for (const { from, to } of ranges.missing({ from: 0, to: 60 }, stepS))
            missing.fill(true, from, to);
          expect(missing).toEqual(expected.map((one) => one > stepS));
        }
        const { list } = ranges;
        expect(list.slice(1).every(({ from }, i) => from >= list[i].to)).toBe(true);
      }),
    );
  });

  it('is removed if a coarser picture is enough', () => {
    const history = new History();
    const times = Array.from({ length: 50 }, (_, i) => 1000 + i * 60);
    history.replace(
      0,
      9000,
      times.map((t) => column(t)),
    );
    history.thin({ from: 1600, to: 2800 }, 600);
    const inside = times.filter((t) => t >= 1600 && t < 2800);
    const kept = inside.filter((t, i) => Math.ceil(t / 600) !== Math.ceil(inside[i + 1] / 600));
    expect(history.held.map(({ t }) => t)).toEqual(
      times.filter((t) => !inside.includes(t) || kept.includes(t)),
    );
    expect(history.intervalS).toBe(60);
    // A snapshot of a step lasts until the next one.
    expect(history.held.slice(1).every(({ t }, i) => history.held[i].until === t)).toBe(true);
  });
});

describe('loading', () => {
  it('fetches each page of a window once, newest first', async () => {
    const { parts, stepS } = await load();
    // Five pages of the default view: the two newest fit into one page of sums.
    expect([parts.map((part) => part.columns.length), stepS]).toEqual([[205, 165, 165, 165], 0]);
    const seen: number[] = [];
    for (const [i, { from, to, columns: held }] of parts.entries()) {
      expect(to).toBe(i === 0 ? NOW_S + 1 : parts[i - 1].from);
      expect(held.every(({ t }) => t >= from && t < to)).toBe(true);
      seen.unshift(...held.map(({ t }) => t));
    }
    const all = Array.from({ length: SNAPSHOTS }, (_, i) => NOW_S - (SNAPSHOTS - 1 - i) * 60);
    expect(seen).toEqual(all);
  });

  it('plans by the default view, for which the server reads nothing, and fetches sums', async () => {
    asked = [];
    await load();
    const groups = asked.map(({ pathname, searchParams }) => [
      pathname.endsWith('/plan'),
      searchParams.get('group'),
    ]);
    expect(groups.slice(0, 2)).toEqual([
      [true, null],
      [false, 'all'],
    ]);
    expect(groups.filter(([isPlan]) => isPlan)).toHaveLength(1);
  });

  it('fetches the newest snapshot of each step if there are too many', async () => {
    const { parts, stepS } = await load(500);
    expect(stepS).toBe(300);
    const held = parts.toReversed().flatMap(({ columns: list }) => list);
    const all = Array.from({ length: SNAPSHOTS }, (_, i) => NOW_S - (SNAPSHOTS - 1 - i) * 60);
    const newest = all.filter((t, i) => Math.ceil(t / 300) !== Math.ceil(all[i + 1] / 300));
    expect(held.map(({ t }) => t)).toEqual(newest);
    expect(held.every((one) => one.stepS === 300)).toBe(true);
  });

  it('requests new snapshots from the newest one on', async () => {
    const part = await fetchSince(source, NOW_S - 120, 0, signal);
    expect(part.columns.map(({ t }) => t)).toEqual([NOW_S - 120, NOW_S - 60]);
    expect(part.to).toBe(NOW_S);
  });

  it('splits a bin by venue, largest first', async () => {
    const splits = new Splits(source.client, WIDE_MINT, { group: 'venue' });
    const t = NOW_S - 600;
    const { shares, nearUsd, t: of } = await splits.at(t, -3, signal);
    expect(of).toBe(t);
    expect([...nearUsd.values()].length).toBeGreaterThanOrEqual(shares.length);
    const sizes = shares.map(({ supportUsd, resistanceUsd }) => supportUsd + resistanceUsd);
    expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
    expect(shares.length).toBeGreaterThan(2);
    const { columns: held } = await fetchSince(source, t, 0, signal);
    const sum = sizes.reduce((a, b) => a + b, 0);
    expect(codeOf(sum)).toBe(columns.codesAt(held[0], -3)[0]);
    expect([splits.has(t), splits.has(t + 60)]).toEqual([true, false]);
  });
});
