import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { binsOfChange, depthLevels, depthSummary } from '../../compute/depth/market-depth.js';
import { binFactor } from '../../compute/ladder.js';
import { referenceDepth } from '../reference/score.js';
import { cellsOf, marketsOf, plainMarkets } from '../scores/ladders.js';

const changes = fc
  .tuple(
    fc.double({ min: -0.9, max: 10, noNaN: true }),
    fc.double({ min: -0.9, max: 10, noNaN: true }),
  )
  .map(([a, b]) => [Math.min(a, b), Math.max(a, b)]);

describe('market depth', () => {
  it('equals the definition for any snapshot and query', () => {
    fc.assert(
      fc.property(
        plainMarkets(),
        changes,
        fc.constantFrom('DEX' as const, 'CEX' as const, 'ALL' as const),
        fc.constantFrom(1, 150.25, 0.0004),
        (plain, [low, high], exchangeType, unit) => {
          const expected = referenceDepth(plain, 2.5, { exchangeType, low, high, unit });
          const query = { exchangeType, lowChange: low, highChange: high, usdPerUnit: unit };
          const levels = depthLevels(cellsOf(plain), marketsOf(plain), query);
          expect(levels.length).toBe(expected.levels.length);
          levels.forEach((level, i) => {
            const { price, support, resistance, constant_product } = expected.levels[i];
            expectClose(level.price, price);
            expectClose(level.support, support);
            expectClose(level.resistance, resistance);
            expectClose(level.constant_product, constant_product);
            if (i > 0) expect(level.price).toBeGreaterThan(levels[i - 1].price);
          });
          const summary = depthSummary(cellsOf(plain), marketsOf(plain), query);
          expectTotals(
            summary.by_exchange_type.map((row) => [row.exchange_type, row]),
            expected.byType,
          );
          expectTotals(
            summary.by_source.map((row) => [row.source, row]),
            expected.bySource,
          );
          const sources = summary.by_source.map(({ source }) => source);
          expect(sources).toEqual([...sources].sort());
          expectClose(summary.constant_product, expected.constantProduct);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('prints exact cents in USD', () => {
    const cells = [
      { bin: 0, support: 10, resistance: 0 },
      { bin: 1, support: 20, resistance: 0 },
    ];
    const plain = [
      { source: 'A', exchangeType: 'DEX', type: 'onchain_pool', cells: [cells[0]] },
      { source: 'B', exchangeType: 'DEX', type: 'onchain_pool', cells: [{ ...cells[1], bin: 0 }] },
    ] as const;
    const markets = plain.map((market) => ({ ...market, cells: [...market.cells] }));
    const query = { exchangeType: 'DEX', lowChange: -0.9, highChange: 10, usdPerUnit: 1 } as const;
    const [level] = depthLevels(cellsOf(markets), marketsOf(markets), query);
    expect(level.support).toBe(0.3);
  });

  it('covers bins -231 to 240 by default, and returns a level for its own price', () => {
    expect(binsOfChange(-0.9, 10)).toEqual({ first: -231, last: 240 });
    for (const bin of [-231, -1, 0, 1, 69, 240]) {
      const change = binFactor(bin) - 1;
      expect(binsOfChange(change, change)).toEqual({ first: bin, last: bin });
    }
  });
});

function expectClose(actual: number, expected: number): void {
  expect(Math.abs(actual - expected)).toBeLessThanOrEqual(Math.abs(expected) * 1e-9 + 1e-12);
}

function expectTotals(
  rows: [string, { support: number; resistance: number }][],
  expected: Record<string, number[]>,
): void {
  const named = Object.keys(expected).filter((key) => expected[key][0] + expected[key][1] > 0);
  expect(rows.map(([key]) => key).sort()).toEqual(named.sort());
  for (const [key, row] of rows) {
    expectClose(row.support, expected[key][0]);
    expectClose(row.resistance, expected[key][1]);
  }
}
