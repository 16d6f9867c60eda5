import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { impactPct } from '../../compute/orders/impact.js';
import { binSums, type BinSums, marketMask } from '../../compute/segment/snapshots.js';
import { plainImpact } from '../reference/flow.js';
import type { PlainLadderMarket } from '../reference/score.js';
import { cellsOf, marketsOf, plainMarkets } from '../scores/ladders.js';
import { expectClose } from './close.js';

/** `[bin, support, resistance]` in USD. */
function ladder(...rows: [number, number, number][]): BinSums {
  const cells = rows.map(([bin, s, r]) => ({
    bin,
    support: Math.round(s * 100),
    resistance: Math.round(r * 100),
  }));
  return sumsOf([{ source: 'Orca', exchangeType: 'DEX', type: 'onchain_pool', cells }]);
}

function sumsOf(markets: readonly PlainLadderMarket[]): BinSums {
  const mask = marketMask(marketsOf(markets), ({ type }) => type !== 'cex_perp');
  return binSums(cellsOf(markets), mask);
}

const pctAt = (bin: number): number => 100 * (1.01 ** bin - 1);
const net = () =>
  fc.oneof(
    fc.constantFrom(0, 1, -1, 100, -100),
    fc.double({ min: -1e7, max: 1e7, noNaN: true }).map((usd) => usd + 0),
  );

describe('impact', () => {
  const steps = ladder([-2, 100, 0], [-1, 50, 0], [1, 0, 10], [3, 0, 40]);

  it('stands inside the bin where the flow ends', () => {
    expectClose(impactPct(steps, 5), pctAt(1));
    expectClose(impactPct(steps, 10), pctAt(1.5));
    expectClose(impactPct(steps, 30), pctAt(3));
    expectClose(impactPct(steps, -25), pctAt(-1));
    expectClose(impactPct(steps, -100), pctAt(-2));
  });

  it('ends in the bin whose amount the flow just reaches, to the cent', () => {
    for (let cents = 100; cents <= 3000; cents++) {
      const usd = cents / 100;
      const gap = ladder([-100, 5000, 0], [0, usd, usd], [100, 0, 5000]);
      expectClose(impactPct(gap, usd), pctAt(0.5));
      expectClose(impactPct(gap, -usd), pctAt(-0.5));
    }
  });

  it('stands at the far edge where the ladder ends first', () => {
    expectClose(impactPct(steps, 51), pctAt(3.5));
    expectClose(impactPct(steps, 1e12), pctAt(3.5));
    expectClose(impactPct(steps, -1e12), pctAt(-2.5));
  });

  it('never moves against the flow', () => {
    const crossed = ladder([-5, 0, 100], [5, 100, 0]);
    expect(impactPct(crossed, 50)).toBe(0);
    expect(impactPct(crossed, 1e9)).toBe(0);
    expect(impactPct(crossed, -50)).toBe(0);
    expect(impactPct(crossed, -1e9)).toBe(0);
    // Half of bin 0 is used up before the price moves.
    const around = ladder([0, 100, 100]);
    expect(impactPct(around, 40)).toBe(0);
    expect(impactPct(around, -40)).toBe(0);
    expectClose(impactPct(around, 75), pctAt(0.25));
  });

  it('is 0 without a flow, else null without depth on its side', () => {
    for (const one of [null, ladder(), steps]) expect(impactPct(one, 0)).toBe(0);
    for (const usd of [1, -1]) {
      expect(impactPct(null, usd)).toBeNull();
      expect(impactPct(ladder(), usd)).toBeNull();
    }
    expect(impactPct(ladder([0, 5, 0]), 1)).toBeNull();
    expect(impactPct(ladder([0, 5, 0]), -1)).toBe(0);
    expect(impactPct(ladder([0, 0, 5]), -1)).toBeNull();
  });

  it('is what walking the ladder bin by bin gives', () => {
    fc.assert(
      fc.property(plainMarkets(), net(), (markets, usd) => {
        expectClose(impactPct(sumsOf(markets), usd), plainImpact(markets, usd));
      }),
      { numRuns: 300 },
    );
  });

  it('of a buy is never raised by more resistance', () => {
    const cents = fc.integer({ min: 100, max: 1e8 });
    fc.assert(
      fc.property(plainMarkets(), fc.integer({ min: -40, max: 60 }), cents, net(), (...given) => {
        const [markets, bin, resistance, usd] = given;
        const before = impactPct(sumsOf(markets), Math.abs(usd));
        // Past the end of the ladder a flow goes as far as the ladder does: that is farther then.
        fc.pre(before !== null);
        const upTo = Math.max(...bins(markets), -Infinity);
        fc.pre(bin <= upTo);
        const added = [...markets, { ...EXTRA, cells: [{ bin, support: 0, resistance }] }];
        const after = impactPct(sumsOf(added), Math.abs(usd));
        expect(after).not.toBeNull();
        expect(after as number).toBeLessThanOrEqual(before + 1e-9);
      }),
      { numRuns: 200 },
    );
  });

  it('grows with the flow', () => {
    fc.assert(
      fc.property(plainMarkets(), net(), net(), (markets, x, y) => {
        const [small, large] = [Math.abs(x), Math.abs(y)].sort((a, b) => a - b);
        fc.pre(small > 0);
        const up = [small, large].map((usd) => impactPct(sumsOf(markets), usd) ?? 0);
        const down = [small, large].map((usd) => impactPct(sumsOf(markets), -usd) ?? 0);
        expect(up[1]).toBeGreaterThanOrEqual(up[0] - 1e-9);
        expect(down[1]).toBeLessThanOrEqual(down[0] + 1e-9);
      }),
    );
  });
});

const EXTRA = { source: 'Extra', exchangeType: 'DEX', type: 'onchain_pool' } as const;

/** The bins of markets but perps that hold resistance. */
function bins(markets: readonly PlainLadderMarket[]): number[] {
  return markets
    .filter(({ type }) => type !== 'cex_perp')
    .flatMap(({ cells }) => cells.filter(({ resistance }) => resistance > 0).map(({ bin }) => bin));
}
