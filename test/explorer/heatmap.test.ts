/** The heatmap without a browser: columns, history, view, scale, ticks, loading. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fathomClient } from '../../client/index.js';
import * as ladder from '../../compute/ladder.js';
import { codeOf, Histogram, shadeOf, usdOf } from '../../explorer/heatmap/amounts.js';
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
import { placedTicks, priceTicks, timeText, timeTicks } from '../../explorer/heatmap/ticks.js';
import { clearOf } from '../../explorer/heatmap/cursor.js';
import { asOfS } from '../../explorer/state/clock.js';
import { zone } from '../../explorer/state/zone.js';
import {
  clamped,
  followed,
  lnPriceAt,
  priceLineOf,
  rowsOf,
  spansOf,
  stepOf,
  stepsOf,
  timeAt,
  type View,
  zoomed,
} from '../../explorer/heatmap/view.js';
import { timesOf, zoomOf } from '../../explorer/heatmap/zoom.js';
import { MemoryDepth } from '../support/memory-depth.js';
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

/** A column of one cell at bin 0, identified by its amount. */
function column(t: number, usd = 1000, more: Partial<Column> = {}): Column {
  const codes = new Uint16Array(2 * columns.BIN_COUNT);
  codes[-2 * columns.MIN_BIN] = codeOf(usd);
  const place = { firstBin: 0, lastBin: 0, priceUsd: 100, lnPrice: Math.log(100) };
  return { t, tier: 'raw', stepS: 0, ...place, codes, ...more };
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
      ...['0.000', '0.000', '0.500'],
      ...['1.000', '1.000'],
    ]);
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
      ...[null, 0, 0, 60, 120],
      ...[null, null, 400, 460, null],
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

describe('a zoom', () => {
  const window = { from: NOW_S - 86_400, to: NOW_S };

  it('has times, or a time before now if it ends now', () => {
    const view = { ...window, lnLow: Math.log(90), lnHigh: Math.log(110) };
    const of = (part: Partial<View>, isLive = true, hasPrices = false) =>
      zoomOf({ ...view, ...part }, window, { isLive, hasPrices });
    expect(of({})).toBe(null);
    expect(of({ from: NOW_S - 3600 })).toEqual({ fromS: -3600, toS: null, prices: null });
    expect(of({ from: NOW_S - 3600 }, false)).toEqual({
      fromS: NOW_S - 3600,
      toS: NOW_S,
      prices: null,
    });
    expect(of({ from: NOW_S - 9000, to: NOW_S - 3600.5 })).toEqual({
      ...{ fromS: NOW_S - 9000, toS: NOW_S - 3600 },
      prices: null,
    });
    expect(of({}, true, true)?.prices?.highUsd).toBeCloseTo(110, 9);
    for (const zoom of [of({ from: NOW_S - 3600 }), of({ to: NOW_S - 9 * 60 })]) {
      const times = zoom && timesOf(zoom, window);
      expect(
        times && zoomOf({ ...view, ...times }, window, { isLive: true, hasPrices: false }),
      ).toEqual(zoom);
    }
  });
});

describe('the label of the cursor', () => {
  it('is beside it, or next to that of the last price, in sight', () => {
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    const room = fc.double({ min: 0.01, max: 0.1, noNaN: true });
    fc.assert(
      fc.property(share, share, room, (other, y, least) => {
        const label = clearOf(other, y, least);
        expect(Math.abs(label - other)).toBeGreaterThanOrEqual(least - 1e-9);
        expect(label).toBeGreaterThanOrEqual(0);
        expect(label).toBeLessThanOrEqual(1);
        if (Math.abs(y - other) >= least) expect(label).toBe(y);
        else expect(Math.abs(label - y)).toBeLessThanOrEqual(2 * least);
      }),
    );
  });

  it('is beside it if the last price is out of sight', () => {
    expect([clearOf(-0.01, 0, 0.1), clearOf(1.01, 1, 0.1)]).toEqual([0, 1]);
  });
});

const VIEW: View = { from: 1000, to: 9000, lnLow: 4, lnHigh: 5 };

describe('the view', () => {
  it('keeps the point that it zooms about, and stays inside', () => {
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    const factor = fc.double({ min: 0.1, max: 10, noNaN: true });
    fc.assert(
      fc.property(share, share, factor, factor, (x, y, time, price) => {
        const after = zoomed(VIEW, { x, y }, { time, price });
        expect(timeAt(after, x)).toBeCloseTo(timeAt(VIEW, x), 6);
        expect(lnPriceAt(after, y)).toBeCloseTo(lnPriceAt(VIEW, y), 9);
        expect(after.to - after.from).toBeCloseTo(8000 * time, 6);
        const inside = clamped(after, VIEW);
        expect(inside.from).toBeGreaterThanOrEqual(VIEW.from);
        expect(inside.to).toBeLessThanOrEqual(VIEW.to);
        const span = Math.min(8000, 8000 * time);
        expect(inside.to - inside.from).toBeCloseTo(span, 6);
      }),
    );
  });

  it('follows new data at its end, and stays put elsewhere', () => {
    const after = { ...VIEW, from: 1100, to: 9100 };
    const times = (view: View) => [view.from, view.to];
    expect(times(followed(VIEW, VIEW, after))).toEqual([1100, 9100]);
    expect(times(followed({ ...VIEW, from: 8000 }, VIEW, after))).toEqual([8100, 9100]);
    expect(times(followed({ ...VIEW, from: 3000, to: 4000 }, VIEW, after))).toEqual([3000, 4000]);
  });

  it('finds the snapshots that each column of pixels shows', () => {
    const time = fc.uniqueArray(fc.integer({ min: 0, max: 10_000 }), { maxLength: 80 });
    fc.assert(
      fc.property(time, fc.integer({ min: 1, max: 64 }), (times, widthPx) => {
        const history = new History();
        times.sort((a, b) => a - b);
        history.replace(
          0,
          20_000,
          times.map((t) => column(t)),
        );
        const { held } = history;
        const spans = spansOf(VIEW, held, widthPx);
        for (let x = 0; x < widthPx; x++) {
          const [begin, middle, end] = [0, 0.5, 1].map((part) =>
            timeAt(VIEW, (x + part) / widthPx),
          );
          const begun = held.filter(({ t }) => t >= begin - 1e-9 && t < end - 1e-9);
          const drawn = held.filter(({ t, until }) => t < begin && until > middle);
          const shown = held.slice(spans[2 * x], spans[2 * x] + spans[2 * x + 1]);
          expect(shown.map(({ t }) => t)).toEqual(
            (begun.length > 0 ? begun : drawn).map(({ t }) => t),
          );
          const isGap = shown.length === 0 && spans[2 * x] === 1;
          expect(isGap).toBe(shown.length === 0 && held.some(({ t }) => t < begin));
        }
      }),
    );
  });
});

it('the price line passes through every snapshot, up to the next one or a gap', () => {
  const history = new History();
  const prices = [100, 104, 102, 103, 101];
  const times = [1000, 1060, 1120, 2000, 2060];
  history.replace(
    0,
    9000,
    times.map((t, i) => column(t, 1, { lnPrice: Math.log(prices[i]) })),
  );
  const view = { from: 970, to: 2170, lnLow: Math.log(95), lnHigh: Math.log(110) };
  // 20 seconds each.
  const line = priceLineOf(view, history.held, 60);
  const share = (price: number) => Math.log(price / 95) / Math.log(110 / 95);
  const isDrawn = (x: number) => line[2 * x] <= line[2 * x + 1];
  const drawn = Array.from({ length: 60 }, (_, x) => x).filter(isDrawn);
  const within = (from: number, to: number) =>
    Array.from({ length: 60 }, (_, x) => x).filter((x) => {
      const begin = 970 + 20 * x;
      return begin + 20 >= from && begin <= to;
    });
  expect(drawn).toEqual([...within(1000, 1180), ...within(2000, 2120)]);
  for (const [i, t] of times.entries()) {
    const x = Math.floor((t - 970) / 20);
    expect(line[2 * x]).toBeLessThanOrEqual(share(prices[i]) + 1e-6);
    expect(line[2 * x + 1]).toBeGreaterThanOrEqual(share(prices[i]) - 1e-6);
  }
});

describe('steps', () => {
  it('are used only for many snapshots, and each is in exactly one pixel', () => {
    expect(stepOf(VIEW, 200, 100)).toBe(null);
    const spanS = fc.double({ min: 600, max: 1e7, noNaN: true });
    fc.assert(
      fc.property(spanS, fc.integer({ min: 10, max: 900 }), (span, widthPx) => {
        const view = { ...VIEW, from: NOW_S - span, to: NOW_S };
        const stepS = stepOf(view, 2 * widthPx + 1, widthPx) ?? 0;
        const perPx = span / widthPx;
        expect(stepS > perPx / 2 - 1e-9 && stepS <= perPx + 1e-9).toBe(true);
        const steps = stepsOf(view, stepS, widthPx);
        const wrong = Array.from({ length: widthPx }, (_, x) => x).filter((x) => {
          const [first, count] = [steps[2 * x], steps[2 * x + 1]];
          const isIn = first * stepS >= view.from + x * perPx - 1e-3;
          const isNext = x === 0 || first === steps[2 * x - 2] + steps[2 * x - 1];
          return !isIn || !isNext || (count !== 1 && count !== 2);
        });
        expect(wrong).toEqual([]);
      }),
    );
  });

  it('have as many rows per bin as there is room for', () => {
    const perBin = (bins: number) =>
      rowsOf({ ...VIEW, lnLow: 0, lnHigh: bins * columns.LN_BIN })?.perBin;
    expect([500, 520, 1030, 2100].map(perBin)).toEqual([4, 2, 1, undefined]);
  });
});

describe('the axes', () => {
  it.each([0, -1, NaN])('have no ticks without room (%d)', (room) => {
    expect(timeTicks({ ...VIEW, from: NOW_S - 3600, to: NOW_S }, room)).toEqual([]);
    expect(priceTicks(VIEW, room)).toEqual([]);
  });

  it.each(['utc', 'local'] as const)(
    'have round times, those at midnight strong (%s)',
    (chosen) => {
      const { TZ } = process.env;
      process.env.TZ = 'Asia/Kolkata';
      zone.set(chosen);
      const offsetS = chosen === 'utc' ? 0 : 5.5 * 3600;
      for (const [spanS, stepS] of [
        [600, 60],
        [5400, 600],
        [86_400, 10_800],
        [7 * 86_400, 86_400],
      ]) {
        const ticks = timeTicks({ ...VIEW, from: NOW_S - spanS, to: NOW_S }, 10);
        expect(Math.abs(ticks.length - spanS / stepS)).toBeLessThanOrEqual(1);
        for (const { at, isStrong = false } of ticks) {
          expect(at).toBeGreaterThanOrEqual(NOW_S - spanS);
          const secondOfDay = (at + offsetS) % 86_400;
          expect([secondOfDay % stepS, secondOfDay === 0]).toEqual([0, isStrong]);
        }
      }
      zone.set('utc');
      if (TZ === undefined) delete process.env.TZ;
      else process.env.TZ = TZ;
    },
  );

  it('have years where those are not the clock’s, and beginnings of months over a long time', () => {
    const at = (time: string) => Date.parse(`${time}Z`) / 1000;
    asOfS.set(at('2026-11-26T14:00'));
    const labels = (from: string, to: string) =>
      timeTicks({ ...VIEW, from: at(from), to: at(to) }, 8).map(({ label }) => label);
    expect(labels('2025-11-26T14:00', '2026-11-26T14:00')).toEqual([
      ...['Jan 2026', 'Mar', 'May', 'Jul', 'Sep', 'Nov'],
    ]);
    expect(labels('2025-10-20T00:00', '2026-02-20T00:00')).toEqual([
      ...['Nov 2025', 'Dec', 'Jan 2026', 'Feb'],
    ]);
    expect(
      labels('2025-12-30T12:00', '2026-01-02T12:00').filter((one) => !one.includes(':')),
    ).toEqual([...['Dec 31, 2025', 'Jan 1, 2026', 'Jan 2']]);
    expect(labels('2026-03-01T00:00', '2026-03-07T00:00')[0]).toBe('Mar 1');
    // Months begin in the zone.
    const { TZ } = process.env;
    process.env.TZ = 'Asia/Kolkata';
    zone.set('local');
    const [first] = timeTicks({ ...VIEW, from: at('2025-11-26T14:00'), to: asOfS.value! }, 4);
    expect(first.at).toBe(at('2026-01-01T00:00') - 5.5 * 3600);
    zone.set('utc');
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
    expect(timeText(at('2025-12-22T01:37:11'))).toBe('Dec 22, 2025, 01:37:11');
    expect(timeText(at('2026-11-22T01:37:11'))).toBe('Nov 22, 01:37:11');
    asOfS.set(null);
  });

  it('have two labels or more at every width and window, which do not touch', () => {
    const width = fc.integer({ min: 240, max: 1800 });
    const span = fc.double({ min: Math.log(300), max: Math.log(400 * 86_400), noNaN: true });
    const end = fc.integer({ min: NOW_S - 500 * 86_400, max: NOW_S });
    fc.assert(
      fc.property(width, span, end, (widthPx, lnSpanS, to) => {
        const view = { ...VIEW, from: to - Math.exp(lnSpanS), to };
        const widthOf = (label: string) => 6 * label.length;
        const labels = placedTicks(view, widthPx, widthOf).filter(({ label }) => label !== '');
        expect(labels.length).toBeGreaterThan(1);
        for (const [i, { x, label }] of labels.entries()) {
          const left = i === 0 ? 0 : labels[i - 1].x + widthOf(labels[i - 1].label) / 2;
          expect(x - widthOf(label) / 2).toBeGreaterThan(left);
        }
      }),
      { numRuns: 1000 },
    );
    // Eight days on a phone, and seven on a smaller map.
    for (const [days, widthPx] of [
      [8, 296],
      [7, 264],
    ]) {
      const view = { ...VIEW, from: NOW_S - days * 86_400, to: NOW_S };
      const labels = placedTicks(view, widthPx, () => 36).filter(({ label }) => label !== '');
      expect(labels.length).toBeGreaterThan(2);
    }
  });

  it('have round prices, far enough apart, whatever they span', () => {
    const price = fc.double({ min: 1e-4, max: 1e5, noNaN: true });
    const ratio = fc.double({ min: 1.06, max: 5000, noNaN: true });
    fc.assert(
      fc.property(price, ratio, (low, factor) => {
        const [lnLow, lnHigh] = [Math.log(low), Math.log(low * factor)];
        const ticks = priceTicks({ ...VIEW, lnLow, lnHigh }, 0.08);
        for (const [i, { at, label }] of ticks.entries()) {
          expect(at).toBeGreaterThanOrEqual(lnLow - 1e-6);
          expect(at).toBeLessThanOrEqual(lnHigh + 1e-6);
          expect(Number(label.replaceAll(',', '')) / Math.exp(at)).toBeCloseTo(1, 6);
          const before = ticks[i - 1]?.at ?? -Infinity;
          expect((at - before) / (lnHigh - lnLow)).toBeGreaterThan(0.079);
        }
      }),
    );
    const labels = (low: number, high: number) =>
      priceTicks({ ...VIEW, lnLow: Math.log(low), lnHigh: Math.log(high) }, 0.08).map(
        ({ label }) => label,
      );
    expect(labels(101, 149)).toEqual([
      '105',
      '110',
      '115',
      '120',
      '125',
      '130',
      '135',
      '140',
      '145',
    ]);
    expect(labels(10, 1100).slice(0, 4)).toEqual(['10', '15', '30', '60']);
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
    const shares = await splits.sharesAt(t, -3, signal);
    const sizes = shares.map(({ supportUsd, resistanceUsd }) => supportUsd + resistanceUsd);
    expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
    expect(shares.length).toBeGreaterThan(2);
    const { columns: held } = await fetchSince(source, t, 0, signal);
    const sum = sizes.reduce((a, b) => a + b, 0);
    expect(codeOf(sum)).toBe(columns.codesAt(held[0], -3)[0]);
    expect([splits.has(t), splits.has(t + 60)]).toEqual([true, false]);
  });
});
