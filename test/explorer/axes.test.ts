/** The heatmap's axes: ticks, and the labels beside them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { placedTicks, priceTicks, timeText, timeTicks } from '../../explorer/heatmap/ticks.js';
import { heightClearOf } from '../../explorer/heatmap/cursor.js';
import { asOfS } from '../../explorer/state/clock.js';
import { zone } from '../../explorer/state/zone.js';
import type { View } from '../../explorer/heatmap/view.js';
import { NOW_S } from '../support/service.js';

const VIEW: View = { from: 1000, to: 9000, lnLow: 4, lnHigh: 5 };

describe('the label of the cursor', () => {
  it('is beside it, or next to that of the last price, in sight', () => {
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    const room = fc.double({ min: 0.01, max: 0.1, noNaN: true });
    fc.assert(
      fc.property(share, share, room, (other, y, least) => {
        const label = heightClearOf(other, y, least);
        expect(Math.abs(label - other)).toBeGreaterThanOrEqual(least - 1e-9);
        expect(label).toBeGreaterThanOrEqual(0);
        expect(label).toBeLessThanOrEqual(1);
        if (Math.abs(y - other) >= least) expect(label).toBe(y);
        else expect(Math.abs(label - y)).toBeLessThanOrEqual(2 * least);
      }),
    );
  });

  it('is beside it if the last price is out of sight', () => {
    expect([heightClearOf(-0.01, 0, 0.1), heightClearOf(1.01, 1, 0.1)]).toEqual([0, 1]);
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
      'Jan 2026',
      'Mar',
      'May',
      'Jul',
      'Sep',
      'Nov',
    ]);
    expect(labels('2025-10-20T00:00', '2026-02-20T00:00')).toEqual([
      'Nov 2025',
      'Dec',
      'Jan 2026',
      'Feb',
    ]);
    expect(
      labels('2025-12-30T12:00', '2026-01-02T12:00').filter((one) => !one.includes(':')),
    ).toEqual(['Dec 31, 2025', 'Jan 1, 2026', 'Jan 2']);
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
