/** The difference of two moments, the percent axis and the change of a price, without a browser. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { differenceOf, shareOf } from '../../explorer/difference/difference.js';
import { percentTicks, priceTicks } from '../../explorer/heatmap/ticks.js';
import type { Ladder } from '../../explorer/ladder/ladder.js';
import { dayAgoWindow, dayBefore, tells } from '../../explorer/views/day-change.js';
import { changeSteps, differenceSteps } from '../../explorer/views/formulas.js';

type Cells = Readonly<Record<number, readonly [support: number, resistance: number]>>;

function ladder(t: number, priceUsd: number, first: number, last: number, cells: Cells): Ladder {
  const bins = Int32Array.from({ length: last - first + 1 }, (_, i) => first + i);
  const of = (side: 0 | 1) => Float64Array.from(bins, (bin) => cells[bin]?.[side] ?? 0);
  return {
    ...{ t, priceUsd, bins, supportUsd: of(0), resistanceUsd: of(1) },
    takenUsd: { support: 0, resistance: 0 },
    ...{ perps: '', parts: [], choices: { types: [], venues: [] } },
  };
}

describe('the difference of two moments', () => {
  const from = { [-24]: [7, 0], [-2]: [100, 0], [-1]: [50, 0], 1: [0, 40], 30: [0, 9] } as const;
  const to = { [-1]: [80, 0], 0: [1, 2], 1: [0, 10], 22: [0, 5] } as const;
  const difference = differenceOf(ladder(1, 100, -24, 30, from), ladder(2, 110, -1, 22, to));

  it('compares what is within each percent of the price of its moment', () => {
    // A plain sum over all cells, by the distance of each.
    const sum = (cells: Cells, side: 0 | 1, pct: number): number =>
      Object.entries(cells).reduce(
        (total, [bin, amounts]) =>
          Math.abs(1.01 ** Number(bin) - 1) <= pct / 100 ? total + amounts[side] : total,
        0,
      );
    expect(difference.within.map(({ pct }) => pct)).toEqual([2, 5, 10, 25]);
    for (const { pct, support, resistance } of difference.within) {
      expect([pct, support]).toEqual([pct, { fromUsd: sum(from, 0, pct), toUsd: sum(to, 0, pct) }]);
      expect([pct, resistance]).toEqual([
        pct,
        { fromUsd: sum(from, 1, pct), toUsd: sum(to, 1, pct) },
      ]);
    }
    expect(difference.within[0].support).toEqual({ fromUsd: 150, toUsd: 81 });
  });

  it('has the change of each step, also of those that one ladder does not have', () => {
    const steps = new Map(difference.steps.map((step) => [step.bin, step]));
    expect([...steps.keys()]).toEqual(Array.from({ length: 51 }, (_, i) => i - 28));
    const expected: Cells = {
      ...{ [-24]: [-7, 0], [-2]: [-100, 0], [-1]: [30, 0] },
      ...{ 0: [1, 2], 1: [0, -30], 22: [0, 5] },
    };
    for (const [bin, { supportUsd, resistanceUsd }] of steps) {
      expect([bin, supportUsd, resistanceUsd]).toEqual([bin, ...(expected[bin] ?? [0, 0])]);
    }
  });

  it('states shares and its formulas', () => {
    expect(shareOf(difference.price)).toBeCloseTo(0.1, 12);
    expect(shareOf({ fromUsd: 0, toUsd: 5 })).toBeNull();
    const steps = differenceSteps(difference);
    expect(steps[0]).toBe('Price = 110 / 100 - 1 = +10.0000%');
    expect(steps).toContain('Support within 2% = $81.00 - $150.00 = -$69.00');
  });
});

it('states the change of a price in 24 hours, and from which snapshot', () => {
  const [first, second] = changeSteps({ t: 86_460, usd: 90 }, { t: 50, usd: 120 });
  expect(first).toBe(
    'Change = price / price of 24 hours before - 1 = 90 / 120 - 1 = \u221225.0000%',
  );
  expect(second).toContain('of 1970-01-01 00:00:50 UTC');
});

it('counts that change from the newest snapshot that is 24 hours old, within an hour', () => {
  const time = fc.integer({ min: 1_790_000_000, max: 1_790_010_000 });
  const agos = fc.uniqueArray(fc.integer({ min: -3000, max: 7000 }), { maxLength: 40 });
  fc.assert(
    fc.property(time, agos, fc.nat(1799), (t, ago, laterS) => {
      const all = ago.map((s) => ({ t: t - 86_400 - s, price_usd: 1 })).sort((a, b) => a.t - b.t);
      const { from, to } = dayAgoWindow(t);
      const answer = { from, to, snapshots: all.filter((one) => one.t >= from && one.t < to) };
      expect(tells(answer, t)).toBe(true);
      // The answer is good until the window after the next one.
      const shownT = t - ((t - 86_400) % 900) + laterS;
      expect(tells(answer, shownT)).toBe(true);
      const agoS = all.map((one) => shownT - 86_400 - one.t).filter((s) => s >= 0 && s <= 3600);
      const expected = agoS.length === 0 ? null : shownT - 86_400 - Math.min(...agoS);
      expect(dayBefore(answer, shownT)?.t ?? null).toBe(expected);
    }),
  );
});

it('counts no change from what was fetched for a moment far away', () => {
  const t = 1_790_000_100;
  for (const far of [-901, 1800, 43_200, -43_200])
    expect(tells(dayAgoWindow(t), t + far)).toBe(false);
});

describe('ticks of percents', () => {
  const view = (low: number, high: number) => ({
    ...{ from: 0, to: 1 },
    ...{ lnLow: Math.log(low), lnHigh: Math.log(high) },
  });

  it.each([
    [90, 110, 100],
    [99.9, 100.05, 100],
    [50, 400, 131.9],
    [0.000_001, 0.000_002, 0.0000015],
  ])('from %d to %d are at the prices that they name', (low, high, baseUsd) => {
    const ticks = percentTicks(view(low, high), Math.log(baseUsd), 0.08);
    expect(ticks.length).toBeGreaterThan(3);
    const places = ticks.map(({ at }) => at);
    for (const { at, label } of ticks) {
      const percent = Number(label.replace('\u2212', '-').replace(/[+%,]/g, ''));
      expect(baseUsd * (1 + percent / 100)).toBeCloseTo(Math.exp(at), 9);
      expect(Math.exp(at)).toBeGreaterThanOrEqual(low * (1 - 1e-9));
      expect(Math.exp(at)).toBeLessThanOrEqual(high * (1 + 1e-9));
    }
    const span = Math.log(high / low);
    for (const [i, at] of places.slice(1).entries()) {
      expect((at - places[i]) / span).toBeGreaterThan(0.08 * 0.99);
    }
    expect(new Set(ticks.map(({ label }) => label)).size).toBe(ticks.length);
  });

  it('are none where there are no ticks of prices', () => {
    expect(percentTicks(view(90, 110), Math.log(100), 2)).toEqual([]);
    expect(priceTicks(view(90, 110), 2)).toEqual([]);
  });
});
