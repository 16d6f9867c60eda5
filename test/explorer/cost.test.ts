/** What an order costs, as the explorer computes it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { orderCost, orderLadder } from '../../compute/depth/slippage.js';
import { valueAt } from '../../explorer/compare/compared.js';
import { extended, knownCourse, linesOfCosts } from '../../explorer/compare/cost-lines.js';
import { costPoint, costUsd, curveOf, sizesAround } from '../../explorer/orders/cost.js';
import { boundedData, boundedLines } from '../../explorer/orders/bounded-lines.js';
import { walked } from '../../explorer/orders/walk.js';
import { isOrderUsd, SIDES } from '../../explorer/state/url.js';
import type { PlainLadderMarket } from '../reference/score.js';
import { referenceCost } from '../reference/slippage.js';
import { cellsOf, plainMarkets } from '../scores/ladders.js';

const PRICE = 2.5;
const side = fc.constantFrom(...SIDES);
/** From cents to more than most ladders have, in whole cents. */
const amount = fc
  .double({ min: -2, max: 9, noNaN: true })
  .map((power) => Math.max(1, Math.round(10 ** power * 100)) / 100);

function sideOf(markets: readonly PlainLadderMarket[], of: 'sell' | 'buy') {
  const cells = markets.flatMap((market) => market.cells);
  return {
    bin: cells.map(({ bin }) => bin),
    usd: cells.map(({ support, resistance }) => (of === 'sell' ? support : resistance) / 100),
  };
}

function expectNear(actual: number, expected: number, error: number): void {
  expect(Math.abs(actual - expected)).toBeLessThanOrEqual(error);
}

describe('an order over a ladder', () => {
  it('costs what the server says', () => {
    fc.assert(
      fc.property(plainMarkets(), side, amount, (markets, of, usd) => {
        const ladder = orderLadder({
          cells: cellsOf(markets, PRICE),
          side: of,
          venueOf: Int32Array.from(markets, () => 0),
          venueCount: 1,
        });
        const { filled, slippagePct, bestPct, worstPct } = orderCost(ladder, usd);
        const mine = walked(sideOf(markets, of), of, usd);
        expect(mine.slippage_pct !== null).toBe(filled);
        for (const [own, server] of [
          [mine.slippage_pct, slippagePct],
          [mine.best_pct, bestPct],
          [mine.worst_pct, worstPct],
        ]) {
          if (own === null || server === null) expect(own).toBe(server);
          else expectNear(own, server, 1e-9 * Math.max(1, Math.abs(server)));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('costs the worth of its tokens less its amount, by numeric integration', () => {
    fc.assert(
      fc.property(plainMarkets(), side, amount, (markets, of, usd) => {
        const plain = referenceCost(markets, PRICE, of, usd, 400);
        const point = costPoint(walked(sideOf(markets, of), of, usd));
        expect(point !== null).toBe(plain.filled);
        if (point === null) return;
        const worth = (usd / plain.average) * PRICE;
        const { inUsd, inPct } = point;
        const error = 1e-5 * Math.max(usd, worth);
        expectNear(inUsd.mean, of === 'sell' ? worth - usd : usd - worth, error);
        expectNear(inUsd.least, Math.abs(plain.bestTokens * PRICE - usd), error);
        expectNear(inUsd.most, Math.abs(plain.worstTokens * PRICE - usd), error);
        expectNear(inPct.mean, 100 * Math.abs(plain.average / PRICE - 1), 1e-3);
        for (const { least, mean, most } of [inUsd, inPct]) {
          expect(least).toBeLessThanOrEqual(mean + error);
          expect(mean).toBeLessThanOrEqual(most + error);
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe('the curve of costs', () => {
  it('has the entered amount first, and as many round ones as a request takes', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.01, max: 1e13, noNaN: true }),
        fc.option(fc.double({ min: 0.01, max: 1e13, noNaN: true })),
        (usd, holds) => {
          const most = holds ?? Infinity;
          const sizes = sizesAround(usd, most);
          expect(sizes[0]).toBe(usd);
          expect(sizes.length).toBeLessThanOrEqual(20);
          expect(new Set(sizes).size).toBe(sizes.length);
          expect(sizes.every(isOrderUsd)).toBe(true);
          for (const one of sizes.slice(1)) expect(one).toBeLessThanOrEqual(most + 0.005);
        },
      ),
    );
    expect(sizesAround(500_000, Infinity)).toEqual([
      ...[500_000, 10_000, 15_000, 20_000, 30_000, 50_000, 70_000],
      ...[100_000, 150_000, 200_000, 300_000, 700_000, 1_000_000, 1_500_000],
      ...[2_000_000, 3_000_000, 5_000_000, 7_000_000, 10_000_000],
    ]);
    expect(sizesAround(1000, 2500.5)).toContain(2500.5);
    expect(Math.max(...sizesAround(1000, 2500.5))).toBe(2500.5);
  });

  it('has the filled amounts by size, at no negative cost', () => {
    const quote = (usd: number, pct: number | null) => ({
      ...{ usd, filled: pct !== null, average_price_usd: null, end_price_usd: null, venues: [] },
      ...{ slippage_pct: pct, best_pct: pct && pct / 2, worst_pct: pct && 2 * pct },
    });
    const quotes = [quote(1000, -20), quote(10, -1), quote(1e6, null)];
    expect(curveOf({ quotes }).map(({ usd, inUsd, inPct }) => [usd, inUsd.mean, inPct])).toEqual([
      [10, costUsd(10, -1), { mean: 1, least: 0.5, most: 2 }],
      [1000, 250, { mean: 20, least: 10, most: 40 }],
    ]);
  });
});

describe('costs over time', () => {
  const point = (usd: number) => ({
    usd: 1000,
    inUsd: { mean: usd, least: usd / 2, most: 2 * usd },
    inPct: { mean: usd / 10, least: usd / 20, most: usd / 5 },
  });

  it('stand at the ends of their steps, and the newest at its own time', () => {
    const costs = [
      {
        address: 'a',
        label: 'A',
        curve: [],
        course: [
          { t: 61, cost: point(1) },
          { t: 170, cost: point(2) },
        ],
      },
      {
        address: 'b',
        label: 'B',
        curve: [],
        course: [
          { t: 120, cost: null },
          { t: 130, cost: point(4) },
        ],
      },
    ];
    const { t, lines } = linesOfCosts(costs, '1h', 'usd');
    expect(t).toEqual([120, 170]);
    expect(lines.map(({ values }) => values)).toEqual([
      [1, 2],
      [null, 4],
    ]);
    expect(lines[1].bounds).toEqual({ least: [null, 2], most: [null, 8] });
    expect(linesOfCosts(costs, '1h', 'pct').lines[0].values).toEqual([0.1, 0.2]);
    expect(linesOfCosts([], '1h', 'usd')).toEqual({ t: [], lines: [] });
  });

  it('go on from what is known: only the newest step is replaced, and what has left the window goes', () => {
    const course = (...times: number[]) => times.map((t) => ({ t, cost: point(t) }));
    expect(extended([], course(60, 120), 0)).toEqual(course(60, 120));
    expect(extended(course(60, 120, 150), course(170, 240), 61)).toEqual(course(120, 170, 240));
    expect(extended(course(60, 120), [], 0)).toEqual(course(60));
  });

  it('are loaded as a whole at first and after five minutes, since the past may be filled in', () => {
    const course = [{ t: 60, cost: point(1) }];
    const held = { address: 'a', label: 'A', curve: [], course, wholeAtMs: 1000 };
    expect(knownCourse([], 'a', 7)).toEqual({ course: [], wholeAtMs: 7 });
    expect(knownCourse([held], 'b', 7)).toEqual({ course: [], wholeAtMs: 7 });
    expect(knownCourse([held], 'a', 300_999)).toEqual({ course, wholeAtMs: 1000 });
    expect(knownCourse([held], 'a', 301_000)).toEqual({ course: [], wholeAtMs: 301_000 });
  });

  it('join the snapshots of each token, and break where some are missing', () => {
    const of = (address: string, times: number[]) => {
      const course = times.map((t) => ({ t, cost: point(t) }));
      return { address, label: address, curve: [], course };
    };
    // At times of their own, as tokens have them; C misses some, and D ends early.
    const costs = [
      of('a', [60, 160, 260, 360, 460, 560, 660, 760]),
      of('b', [100, 200, 300, 400, 500, 600, 700, 800]),
      of('c', [60, 160, 260, 600, 700, 800]),
      of('d', [60, 160, 260]),
    ];
    const { t, lines } = linesOfCosts(costs, '1h', 'usd');
    const [a, b, c, d] = lines.map(({ values }) =>
      Object.fromEntries(t.map((time, i) => [time, values[i]])),
    );
    expect(t).toContain(800);
    expect(t).toEqual(t.toSorted((one, other) => one - other));
    // A token's newest cost counts until the newest snapshot of all.
    expect(valueAt(lines[0].values, t.length - 1)).toBe(760);
    expect(valueAt(lines[0].bounds?.most ?? [], t.length - 1)).toBe(1520);
    expect(Object.values(a)).not.toContain(null);
    expect([b[60], b[120], b[800]]).toEqual([null, 100, 800]);
    expect(Object.values(b).filter((value) => value === null).length).toBe(1);
    expect([c[300], c[301], c[600]]).toEqual([260, null, 600]);
    expect([d[300], d[301]]).toEqual([260, null]);
    expect(valueAt(lines[3].values, t.length - 1)).toBe(null);
  });
});

describe('lines with bounds', () => {
  const line = (stroke: string, hasBounds = true) => ({ label: stroke, stroke, hasBounds });
  /** The colours of the bands. */
  const fills = ({ bands = [] }: ReturnType<typeof boundedLines>) =>
    bands.map(({ fill }) => (fill as () => string)());

  it('are drawn above all bands', () => {
    const [one, two] = [
      { values: [1], bounds: { least: [0], most: [2] } },
      { values: [5], bounds: { least: [4], most: [6] } },
    ];
    expect(boundedData([10], [one, { values: [3] }, two])).toEqual([
      ...[[10], [0], [2], [4], [6]],
      ...[[1], [3], [5]],
    ]);
    const { series, bands } = boundedLines([line('red'), line('green', false), line('blue')]);
    expect(series.map(({ stroke }) => stroke)).toEqual([
      undefined,
      ...Array<string>(4).fill('transparent'),
      ...['red', 'green', 'blue'],
    ]);
    expect(bands?.map((band) => band.series)).toEqual([
      [2, 1],
      [4, 3],
    ]);
  });

  it('have one band if they are more than two: that of the line at the cursor', () => {
    const two = boundedLines([line('red'), line('blue')]);
    expect(fills(two).every((fill) => fill !== 'transparent')).toBe(true);
    const three = boundedLines([line('red'), line('green'), line('blue')]);
    expect(new Set(fills(three))).toEqual(new Set(['transparent']));
    let drawn = 0;
    const plot = { redraw: () => drawn++ } as unknown as Parameters<typeof three.setSeries>[0];
    // After x and six bounds: the second line.
    three.setSeries(plot, 8);
    three.setSeries(plot, 8);
    expect(drawn).toBe(1);
    const [red, green, blue] = fills(three);
    expect([red, blue]).toEqual(['transparent', 'transparent']);
    expect(green).toContain('green');
    three.setSeries(plot, null);
    expect(new Set(fills(three))).toEqual(new Set(['transparent']));
    const { dist } = three.cursorFocus;
    expect([1, 6, 7, 9].map((series) => dist?.(plot as never, series, 0, 10, 4))).toEqual([
      ...[Infinity, Infinity, 6, 6],
    ]);
  });
});
