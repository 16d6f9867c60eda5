/** What the heatmap has in sight: zooms, the price line, steps and rows. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as columns from '../../explorer/heatmap/columns.js';
import { History } from '../../explorer/heatmap/history.js';
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
import { NOW_S } from '../support/service.js';
import { column } from './column.js';

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
      fromS: NOW_S - 9000,
      toS: NOW_S - 3600,
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
