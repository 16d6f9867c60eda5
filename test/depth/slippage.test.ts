import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  costOfMove,
  ORDER_SIDES,
  orderCost,
  type OrderLadder,
  orderLadder,
  type OrderSide,
  slippage,
} from '../../compute/depth/slippage.js';
import type { PlainLadderMarket } from '../reference/score.js';
import { referenceCost, referenceMove } from '../reference/slippage.js';
import { cellsOf, plainMarkets } from '../scores/ladders.js';

const PRICE = 2.5;
const RUNS = { numRuns: 60 };
const SLICES = 400;
const side = fc.constantFrom(...ORDER_SIDES);
/** From almost nothing to more than most ladders have. */
const amount = fc.double({ min: -2, max: 11, noNaN: true }).map((power) => 10 ** power);
/** The markets that are kept, one bit each; often all of them. */
const filter = fc.oneof(fc.constant(-1), fc.nat());
const movePct = fc.double({ min: 0.01, max: 200, noNaN: true });

const questionOf = (markets: readonly PlainLadderMarket[], of: OrderSide, kept = markets) => ({
  cells: cellsOf(markets, PRICE),
  side: of,
  // Each market is a venue here.
  venueOf: Int32Array.from(markets, (market, index) => (kept.includes(market) ? index : -1)),
  venueCount: markets.length,
});

function ladderOf(
  markets: readonly PlainLadderMarket[],
  of: OrderSide,
  kept = markets,
): OrderLadder {
  return orderLadder(questionOf(markets, of, kept));
}

const sum = (values: Iterable<number>): number =>
  [...values].reduce((total, one) => total + one, 0);

/** Equal up to a relative error. */
function expectNear(actual: number | null, expected: number, error = 1e-7): void {
  expect(actual).not.toBeNull();
  expect(Math.abs((actual as number) - expected)).toBeLessThanOrEqual(error * Math.abs(expected));
}

/** `a` is at most `b`, but for the last digits. */
function expectAtMost(a: number, b: number): void {
  expect(a - b).toBeLessThanOrEqual(1e-9 * Math.max(1, Math.abs(a), Math.abs(b)));
}

describe('an order', () => {
  it('costs the same as by numeric integration of the walk', () => {
    fc.assert(
      fc.property(plainMarkets(), side, amount, filter, (markets, of, usd, bits) => {
        // Of the markets that a filter keeps; the others get nothing.
        const isKept = markets.map((_, index) => ((bits >> index) & 1) === 1);
        const kept = markets.filter((_, index) => isKept[index]);
        const cost = orderCost(ladderOf(markets, of, kept), usd);
        const filtered = markets.map((market, i) =>
          isKept[i] ? market : { ...market, cells: [] },
        );
        const plain = referenceCost(filtered, PRICE, of, usd, SLICES);
        expect(cost.filled).toBe(plain.filled);
        plain.taken.forEach((part, market) => {
          expect(Math.abs(cost.venueUsd[market] - part)).toBeLessThanOrEqual(1e-6 * (1 + usd));
          if (!isKept[market]) expect(cost.venueUsd[market]).toBe(0);
        });
        if (!cost.filled) {
          expect([cost.averagePriceUsd, cost.endPriceUsd, cost.slippagePct]).toEqual([
            null,
            null,
            null,
          ]);
          expect([cost.bestPct, cost.worstPct]).toEqual([null, null]);
          return;
        }
        expectNear(cost.averagePriceUsd, plain.average);
        expectNear(cost.endPriceUsd, plain.end);
        const percent = (tokens: number) => 100 * (usd / tokens / PRICE - 1);
        expect(cost.slippagePct).toBeCloseTo(percent(usd / plain.average), 4);
        expect(cost.bestPct).toBeCloseTo(percent(plain.bestTokens), 4);
        expect(cost.worstPct).toBeCloseTo(percent(plain.worstTokens), 4);
      }),
      RUNS,
    );
  });

  it('of the whole ladder, to the cent, is filled', () => {
    fc.assert(
      fc.property(plainMarkets(), side, (markets, of) => {
        const ladder = ladderOf(markets, of);
        const movePct = [1e6];
        const { fillableUsd } = slippage(ladder, { usd: [], movePct });
        if (fillableUsd === 0) return;
        const { costs, moves } = slippage(ladder, {
          usd: [fillableUsd, fillableUsd + 0.01],
          movePct,
        });
        expect(costs.map(({ filled }) => filled)).toEqual([true, false]);
        expect(moves).toEqual([fillableUsd]);
        expectNear(sum(costs[1].venueUsd), fillableUsd, 1e-9);
      }),
      RUNS,
    );
  });
});

describe('a move', () => {
  it('costs the depth in between, slice by slice', () => {
    fc.assert(
      fc.property(plainMarkets(), side, movePct, (markets, of, pct) => {
        const ladder = ladderOf(markets, of);
        const plain = referenceMove(markets, of, pct, SLICES);
        // The slice in which the move ends counts as a whole or not at all.
        const largest = Math.max(0, ...ladder.cents) / 100;
        const error = largest / SLICES + 1e-9 * plain;
        expect(Math.abs(costOfMove(ladder, pct) - plain)).toBeLessThanOrEqual(error);
      }),
      RUNS,
    );
  });

  it('ends at the same price as an order for its cost', () => {
    fc.assert(
      fc.property(plainMarkets(), side, movePct, (markets, of, pct) => {
        const ladder = ladderOf(markets, of);
        const usd = costOfMove(ladder, pct);
        if (usd === 0) return;
        const { endPriceUsd } = orderCost(ladder, Math.min(usd, ladder.totalCents / 100));
        const reached = Math.abs((endPriceUsd as number) / PRICE - 1) * 100;
        // An order stops at a gap in the ladder, before the price has moved as far.
        // The last digit of the sum may be more of the smallest bin.
        const least = Math.min(...ladder.cents.filter((cents) => cents > 0));
        const shareError = (8 * Number.EPSILON * ladder.totalCents) / least;
        expectAtMost(reached, pct + shareError * (100 + reached));
        const back = costOfMove(ladder, Math.max(reached * (1 + 1e-12), Number.MIN_VALUE));
        expectNear(back, usd, 1e-6);
        const sign = of === 'sell' ? -1 : 1;
        const distance = (sign * Math.log1p((sign * pct) / 100)) / Math.log(1.01);
        const isWithin = ladder.cents.some((cents, i) => {
          const outward = sign * (ladder.firstBin + i);
          const [near, far] = [Math.max(outward - 0.5, 0), Math.max(outward + 0.5, 0)];
          return cents > 0 && near < distance && distance < far;
        });
        if (isWithin) expectNear(reached, pct, 1e-6);
      }),
      RUNS,
    );
  });
});
