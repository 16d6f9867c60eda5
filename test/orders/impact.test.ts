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

  it('is inside the bin where the flow ends', () => {
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

  it('is at the far edge if the ladder ends first', () => {
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

  it('is 0 without a flow, otherwise null without depth on its side', () => {
    for (const one of [null, ladder(), steps]) expect(impactPct(one, 0)).toBe(0);
    for (const usd of [1, -1]) {
      expect(impactPct(null, usd)).toBeNull();
      expect(impactPct(ladder(), usd)).toBeNull();
    }
    expect(impactPct(ladder([0, 5, 0]), 1)).toBeNull();
    expect(impactPct(ladder([0, 5, 0]), -1)).toBe(0);
    expect(impactPct(ladder([0, 0, 5]), -1)).toBeNull();
  });

  it('equals a walk over the ladder bin by bin', () => {
    fc.assert(
      fc.property(plainMarkets(), net(), (markets, usd) => {
        expectClose(impactPct(sumsOf(markets), usd), plainImpact(markets, usd));
      }),
      { numRuns: 300 },
    );
  });
});
