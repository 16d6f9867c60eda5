import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { impactPct, ORDER_SIDES, orderCost, orderLadder } from '../../compute/depth/slippage.js';
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

/** From almost nothing to more than most ladders have. */
const amount = fc.double({ min: -2, max: 11, noNaN: true }).map((power) => 10 ** power);

describe('impact', () => {
  it('ends in the bin whose amount the flow just reaches, to the cent', () => {
    for (let cents = 100; cents <= 3000; cents++) {
      const usd = cents / 100;
      const gap = ladder([-100, 5000, 0], [0, usd, usd], [100, 0, 5000]);
      expectClose(impactPct(gap, usd), pctAt(0.5));
      expectClose(impactPct(gap, -usd), pctAt(-0.5));
    }
  });

  it("spreads all of the bin at the price over its half on the flow's side", () => {
    const around = ladder([0, 100, 100], [1, 0, 100], [-1, 100, 0]);
    for (const [usd, bins] of [
      [0.01, 0.00005],
      [50, 0.25],
      [100, 0.5],
      [150, 1],
      [200, 1.5],
      [201, 1.5],
    ]) {
      expectClose(impactPct(around, usd), pctAt(bins));
      expectClose(impactPct(around, -usd), pctAt(-bins));
    }
    // On the wrong side of the price, all stands at it.
    expect(impactPct(ladder([-3, 0, 100], [3, 100, 0]), 90)).toBe(0);
    expect(impactPct(ladder([-3, 0, 100], [3, 100, 0]), -90)).toBe(0);
  });

  it('is where an order for the flow ends', () => {
    fc.assert(
      fc.property(plainMarkets(), fc.constantFrom(...ORDER_SIDES), amount, (markets, side, usd) => {
        const venueOf = Int32Array.from(markets, ({ type }) => (type === 'cex_perp' ? -1 : 0));
        const cells = cellsOf(markets);
        const order = orderLadder({ cells, side, venueOf, venueCount: 1 });
        const impact = impactPct(sumsOf(markets), side === 'sell' ? -usd : usd);
        const { filled, endPriceUsd } = orderCost(order, usd);
        if (filled) {
          expectClose(impact, 100 * ((endPriceUsd as number) / cells.priceUsd - 1));
          return;
        }
        // All of the side, however much more the flow is.
        const all = order.totalCents / 100;
        const whole = all === 0 ? null : orderCost(order, all).endPriceUsd;
        expectClose(impact, whole === null ? null : 100 * (whole / cells.priceUsd - 1));
      }),
      { numRuns: 300 },
    );
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
