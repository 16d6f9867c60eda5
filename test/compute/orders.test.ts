import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LargestOrders } from '../../compute/orders/largest-orders.js';
import { compareByPrice, limitLadder, nearestOrders } from '../../compute/orders/limit-orders.js';
import type { BinSums } from '../../compute/segment/snapshots.js';
import { type PlainBin, plainDcaOrders } from '../reference/orders.js';
import { dcaOrders, limitOrder } from '../support/orders.js';

const NOW_S = 1_794_659_696;

it('the orders nearest to the price cost no more if there are many', () => {
  const many = Array.from({ length: 20_000 }, (_, i) =>
    limitOrder({ orderAddress: String(i), usdPrice: 1 + i / 10_000 }),
  );
  const ladder = limitLadder(many.sort(compareByPrice));
  let looked = 0;
  const counted = {
    ...ladder,
    levelPriceUsd: new Proxy(ladder.levelPriceUsd, {
      get(prices, name) {
        if (typeof name === 'string' && /^\d+$/.test(name)) looked++;
        const value: unknown = Reflect.get(prices, name, prices);
        return value;
      },
    }),
  };
  const query = { lowChange: -0.9, highChange: 10, limit: 100 };
  expect(nearestOrders([{ ladder: counted, priceUsd: 2 }], query)).toHaveLength(100);
  expect(looked).toBeLessThan(100 + 2 * 20);
});

describe('the largest DCA orders', () => {
  const bins = fc.uniqueArray(
    fc.tuple(
      fc.integer({ min: -40, max: 40 }),
      fc.constantFrom(0, 0, 10, 300, 7000),
      fc.constantFrom(0, 0, 10, 300, 7000),
    ),
    { selector: ([bin]) => bin, maxLength: 12 },
  );
  const oneSided = bins.map((all) => all.map(([bin, support]): PlainBin => [bin, support, 0]));
  const token = fc.record({
    priceUsd: fc.option(fc.constantFrom(1, 2, 3)),
    ladder: fc.option(fc.oneof(bins, oneSided)),
  });

  it.each(['pct_impact', 'usd_flow'] as const)('by %s equal those of a sort', (sort) => {
    fc.assert(
      fc.property(dcaOrders(NOW_S), token, fc.integer({ min: 1, max: 50 }), (orders, of, limit) => {
        const byAddress = [...orders].sort((a, b) => (a.dcaAddress < b.dcaAddress ? -1 : 1));
        const state = { priceUsd: of.priceUsd, ladder: sumsOf(of.ladder), nowS: NOW_S };
        const largest = new LargestOrders(sort, state, limit);
        const half = byAddress.length >> 1;
        largest.add(byAddress, 0, half);
        largest.add(byAddress, half);
        expect(largest.orders.map(({ dcaAddress }) => dcaAddress)).toEqual(
          plainDcaOrders(orders, of, sort, NOW_S, limit),
        );
      }),
      { numRuns: 500 },
    );
  });
});

function sumsOf(bins: readonly PlainBin[] | null): BinSums | null {
  if (bins === null) return null;
  const numbers = bins.map(([bin]) => bin);
  const firstBin = Math.min(0, ...numbers);
  const length = Math.max(0, ...numbers) - firstBin + 1;
  const sums = {
    firstBin,
    supportCents: new Float64Array(length),
    resistanceCents: new Float64Array(length),
  };
  for (const [bin, support, resistance] of bins) {
    sums.supportCents[bin - firstBin] = support * 100;
    sums.resistanceCents[bin - firstBin] = resistance * 100;
  }
  return sums;
}
