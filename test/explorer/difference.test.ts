/** The difference of two moments, the percent axis and the change of a price, without a browser. */
import { describe, expect, it } from 'vitest';
import { differenceOf, shareOf } from '../../explorer/difference/difference.js';
import { percentTicks, priceTicks } from '../../explorer/heatmap/ticks.js';
import type { Ladder } from '../../explorer/ladder/ladder.js';
import { canStandIn, dayBefore, isDayBefore } from '../../explorer/views/day-change.js';
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

it('states the change of a price in 24 hours, from the last quarter of an hour before it', () => {
  for (const t of [1_794_659_696, 1_794_659_700, 86_400, 86_400 + 899]) {
    expect(dayBefore(t) % 900).toBe(0);
    expect(t - dayBefore(t) - 86_400).toBeGreaterThanOrEqual(0);
    expect(t - dayBefore(t) - 86_400).toBeLessThan(900);
  }
  const [first, second] = changeSteps({ t: 86_460, usd: 90 }, { t: 50, usd: 120 });
  expect(first).toBe(
    'Change = price / price of 24 hours before - 1 = 90 / 120 - 1 = \u221225.0000%',
  );
  expect(second).toContain('of 1970-01-01 00:00:50 UTC');
});

it('counts no change from a later moment, or from one that is much older than 24 hours', () => {
  const t = 1_794_659_700;
  expect(isDayBefore(dayBefore(t), t)).toBe(true);
  expect(isDayBefore(t - 86_400 - 3600, t)).toBe(true);
  expect(isDayBefore(t - 86_400 - 3601, t)).toBe(false);
  // Three days back, the last answer is of a day ago.
  expect(isDayBefore(dayBefore(t), t - 3 * 86_400)).toBe(false);
  expect(isDayBefore(dayBefore(t), t - 900)).toBe(false);
});

it('keeps the base of a quarter of an hour ago until the next one, and none of another moment', () => {
  const t = 1_794_659_700;
  expect(canStandIn(dayBefore(t), t)).toBe(true);
  expect(canStandIn(dayBefore(t - 900), t)).toBe(true);
  expect(canStandIn(dayBefore(t - 1800), t)).toBe(false);
  // A moment is pinned, half a day back; then the page returns to now.
  expect(canStandIn(dayBefore(t), t - 43_200)).toBe(false);
  expect(canStandIn(dayBefore(t - 43_200), t)).toBe(false);
  expect(canStandIn(dayBefore(t), t - 900)).toBe(false);
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
