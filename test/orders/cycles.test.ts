import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cyclesWithin, HORIZONS_S } from '../../compute/orders/dca-orders.js';
import { NOW_S } from './orders.js';

it('cycles are counted exactly however far away the first one is', () => {
  const seconds = fc.maxSafeInteger();
  fc.assert(
    fc.property(
      fc.oneof(seconds, fc.integer({ min: NOW_S - 1e6, max: NOW_S + 1e6 })),
      fc.oneof(fc.integer({ min: 1, max: 1e6 }), fc.integer({ min: 1, max: 2 ** 53 - 1 })),
      fc.constantFrom(...HORIZONS_S),
      (nextCycleAtS, cycleFrequencyS, horizonS) => {
        // Sums of the times themselves must be exact too.
        fc.pre(Math.abs(NOW_S - nextCycleAtS) + horizonS < 2 ** 53);
        const [next, every] = [BigInt(nextCycleAtS), BigInt(cycleFrequencyS)];
        const by = (atS: bigint): bigint => (atS < next ? 0n : (atS - next) / every + 1n);
        const count = by(BigInt(NOW_S + horizonS)) - by(BigInt(NOW_S));
        expect(cyclesWithin({ nextCycleAtS, cycleFrequencyS }, NOW_S, horizonS)).toBe(
          Number(count),
        );
      },
    ),
  );
});
