import fc from 'fast-check';
import { describe, it } from 'vitest';
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
  it('ends in the bin whose amount the flow just reaches, to the cent', () => {
    for (let cents = 100; cents <= 3000; cents++) {
      const usd = cents / 100;
      const gap = ladder([-100, 5000, 0], [0, usd, usd], [100, 0, 5000]);
      expectClose(impactPct(gap, usd), pctAt(0.5));
      expectClose(impactPct(gap, -usd), pctAt(-0.5));
    }
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
