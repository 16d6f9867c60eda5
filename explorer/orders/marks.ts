/** The orders of others as the map shows them: lines at limit prices, and what DCA orders trade at each price. */
import type { DcaOrder, LimitOrder } from '../../client/index.js';
import { type View, yOf } from '../heatmap/view.js';
import { leftOf } from './left.js';

type Direction = 'BUY' | 'SELL';

/** Limit orders on one side, nearer to each other than lines can be drawn. */
export interface Line {
  direction: Direction;
  /** Of the largest order. */
  lnPrice: number;
  /** What is left of all. */
  usd: number;
  /** When the first was created, epoch seconds. */
  fromT: number;
  /** Largest first. */
  orders: readonly LimitOrder[];
}

/**
 * The lines in sight, from the lowest price up.
 *
 * @param gap the least distance between two lines of a side, as a share of the height
 */
export function linesIn(orders: readonly LimitOrder[], view: View, gap: number): Line[] {
  const lines: Line[] = [];
  for (const direction of ['BUY', 'SELL'] as const) {
    const own = orders
      .filter((one) => one.direction === direction && isInSight(one, view))
      .sort((a, b) => a.usd_price - b.usd_price);
    for (let first = 0, after = 1; first < own.length; first = after, after++) {
      const from = heightOf(own[first], view);
      while (after < own.length && heightOf(own[after], view) - from < gap) after++;
      lines.push(lineOf(direction, own.slice(first, after)));
    }
  }
  return lines.sort((a, b) => a.lnPrice - b.lnPrice);
}

function lineOf(direction: Direction, orders: readonly LimitOrder[]): Line {
  const bySize = orders.toSorted((a, b) => leftOf(b) - leftOf(a));
  return {
    direction,
    lnPrice: Math.log(bySize[0].usd_price),
    usd: bySize.reduce((sum, one) => sum + leftOf(one), 0),
    fromT: Math.min(...orders.map((one) => one.created_at)),
    orders: bySize,
  };
}

const heightOf = (order: LimitOrder, view: View): number => yOf(view, Math.log(order.usd_price));

function isInSight(order: LimitOrder, view: View): boolean {
  const y = heightOf(order, view);
  return y >= 0 && y <= 1 && order.created_at < view.to;
}

/** The lines at a place, nearest first. @param reach share of the height */
export function linesAt(
  lines: readonly Line[],
  place: { t: number; lnPrice: number },
  view: View,
  reach: number,
): Line[] {
  const y = yOf(view, place.lnPrice);
  const distanceOf = (line: Line): number => Math.abs(yOf(view, line.lnPrice) - y);
  return lines
    .filter((line) => line.fromT <= place.t && distanceOf(line) <= reach)
    .sort((a, b) => distanceOf(a) - distanceOf(b));
}

/** What orders buy and sell. */
export interface Sums {
  buyUsd: number;
  sellUsd: number;
  buys: number;
  sells: number;
}

/** What is left of the DCA orders that trade at a price: those whose range contains it. */
export function dcaAt(orders: readonly DcaOrder[], priceUsd: number): Sums {
  return sumsOf(
    orders.filter(({ price_range: { min_usd: min, max_usd: max } }) => {
      return (min ?? 0) <= priceUsd && priceUsd <= (max ?? Infinity);
    }),
    (one) => one.remaining_usd,
  );
}

export function sumsOf<Order extends { direction: Direction }>(
  orders: readonly Order[],
  usdOf: (order: Order) => number,
): Sums {
  const sums: Sums = { buyUsd: 0, sellUsd: 0, buys: 0, sells: 0 };
  for (const order of orders) {
    if (order.direction === 'BUY') {
      sums.buys++;
      sums.buyUsd += usdOf(order);
    } else {
      sums.sells++;
      sums.sellUsd += usdOf(order);
    }
  }
  return sums;
}

/** Prices from the lowest up at which an order begins or ends to trade, between two prices and with them. */
export function dcaSteps(orders: readonly DcaOrder[], low: number, high: number): number[] {
  const ends = orders.flatMap(({ price_range: { min_usd: min, max_usd: max } }) => [min, max]);
  const inside = ends.filter((one): one is number => one !== null && one > low && one < high);
  return [...new Set([low, ...inside, high])].sort((a, b) => a - b);
}
