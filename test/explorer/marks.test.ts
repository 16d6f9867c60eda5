/** The orders of others as the map shows them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DcaOrder, LimitOrder } from '../../client/index.js';
import { yOf } from '../../explorer/heatmap/view.js';
import { leftOf } from '../../explorer/orders/left.js';
import { dcaAt, dcaSteps, linesAt, linesIn } from '../../explorer/orders/marks.js';

const VIEW = { from: 1000, to: 2000, lnLow: Math.log(50), lnHigh: Math.log(200) };
const direction = fc.constantFrom('BUY' as const, 'SELL' as const);
const cents = fc.integer({ min: 1, max: 1e8 }).map((one) => one / 100);
const limit = fc
  .record({
    direction,
    usd_price: fc.double({ min: 20, max: 400, noNaN: true }),
    left: cents,
    created_at: fc.integer({ min: 0, max: 2500 }),
  })
  .map(({ left, ...one }): LimitOrder => {
    const isBuy = one.direction === 'BUY';
    const amounts = {
      usd_support_amount: isBuy ? left : 0,
      usd_resistance_amount: isBuy ? 0 : left,
    };
    return { ...one, ...amounts } as LimitOrder;
  });
const end = fc.option(fc.double({ min: 20, max: 400, noNaN: true }));
const dca = fc
  .record({ direction, remaining_usd: cents, min_usd: end, max_usd: end })
  .map(({ min_usd, max_usd, ...one }) => {
    return { ...one, price_range: { min_usd, max_usd } } as DcaOrder;
  });

const usdOf = (orders: readonly LimitOrder[]): number =>
  orders.reduce((sum, one) => sum + leftOf(one), 0);

describe('limit orders', () => {
  it('are lines that lose no order in sight, none of them nearer than they can be drawn', () => {
    fc.assert(
      fc.property(fc.array(limit), fc.double({ min: 0, max: 0.3, noNaN: true }), (orders, gap) => {
        const lines = linesIn(orders, VIEW, gap);
        const inSight = orders.filter(
          ({ usd_price: price, created_at: t }) => price >= 50 && price <= 200 && t < 2000,
        );
        expect(new Set(lines.flatMap((line) => line.orders))).toEqual(new Set(inSight));
        for (const side of ['BUY', 'SELL'] as const) {
          const own = lines.filter((line) => line.direction === side);
          const all = usdOf(inSight.filter((one) => one.direction === side));
          expect(own.reduce((sum, line) => sum + line.usd, 0)).toBeCloseTo(all, 2);
          const lowest = own.map((line) =>
            Math.min(...line.orders.map((one) => yOf(VIEW, Math.log(one.usd_price)))),
          );
          for (const [i, y] of lowest.slice(1).entries())
            expect(y - lowest[i]).toBeGreaterThanOrEqual(gap);
        }
        for (const { orders: own, usd, fromT, lnPrice } of lines) {
          expect(usd).toBeCloseTo(usdOf(own), 2);
          expect(fromT).toBe(Math.min(...own.map((one) => one.created_at)));
          expect(leftOf(own[0])).toBe(Math.max(...own.map(leftOf)));
          expect(lnPrice).toBe(Math.log(own[0].usd_price));
          expect(new Set(own.map((one) => one.direction)).size).toBe(1);
        }
      }),
    );
  });

  it('are read where their line is, and not before they were created', () => {
    const order = (usd_price: number, created_at: number): LimitOrder =>
      ({
        direction: 'BUY',
        usd_price,
        created_at,
        usd_support_amount: 5,
        usd_resistance_amount: 0,
      }) as LimitOrder;
    const lines = linesIn([order(100, 1500), order(102, 900), order(150, 0)], VIEW, 0.001);
    const at = (t: number, price: number) =>
      linesAt(lines, { t, lnPrice: Math.log(price) }, VIEW, 0.02).map(
        (line) => line.orders[0].usd_price,
      );
    expect(at(1600, 100.1)).toEqual([100, 102]);
    expect(at(1600, 101.9)).toEqual([102, 100]);
    expect(at(1400, 100.1)).toEqual([102]);
    expect(at(1600, 120)).toEqual([]);
  });
});

describe('DCA orders', () => {
  it('count at each price in their range, and change only at its ends', () => {
    fc.assert(
      fc.property(fc.array(dca, { maxLength: 12 }), (orders) => {
        const steps = dcaSteps(orders, 50, 200);
        expect([steps[0], steps.at(-1)]).toEqual([50, 200]);
        for (const [i, low] of steps.slice(0, -1).entries()) {
          const high = steps[i + 1];
          expect(low).toBeLessThan(high);
          const [a, b] = [0.25, 0.75].map((share) => dcaAt(orders, low + share * (high - low)));
          expect(a).toEqual(b);
        }
        for (const price of [50, 99.5, 200]) {
          let [buyUsd, sellUsd] = [0, 0];
          for (const { direction: side, remaining_usd: usd, price_range: range } of orders) {
            if (range.min_usd !== null && price < range.min_usd) continue;
            if (range.max_usd !== null && price > range.max_usd) continue;
            if (side === 'BUY') buyUsd += usd;
            else sellUsd += usd;
          }
          const sums = dcaAt(orders, price);
          expect(sums.buyUsd).toBeCloseTo(buyUsd, 2);
          expect(sums.sellUsd).toBeCloseTo(sellUsd, 2);
        }
      }),
    );
  });
});
