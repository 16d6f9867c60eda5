/** A token's DCA orders as columns in one block of numbers, for memory that threads share. */
import { cyclesBy, HORIZONS_S } from './cycles.js';
import type { DcaOrder } from './dca-order.js';

/**
 * The columns of a block, each with a value an order: column `c` of `n` orders is
 * `block[c * n .. (c + 1) * n)`. Open ends of a range are infinite, SIDE is 1 (BUY) or -1 (SELL).
 */
const REMAINING = 0;
const CYCLE = 1;
const FREQUENCY = 2;
const NEXT_CYCLE = 3;
const MIN_USD = 4;
const MAX_USD = 5;
const SIDE = 6;
export const ORDER_COLUMNS = 7;

/** Packs orders into a block of `ORDER_COLUMNS` values each. */
export function packOrders(orders: readonly DcaOrder[]): Float64Array {
  const n = orders.length;
  const block = new Float64Array(ORDER_COLUMNS * n);
  for (let i = 0; i < n; i++) {
    const order = orders[i];
    block[REMAINING * n + i] = order.remainingUsd;
    block[CYCLE * n + i] = order.cycleUsd;
    block[FREQUENCY * n + i] = order.cycleFrequencyS;
    block[NEXT_CYCLE * n + i] = order.nextCycleAtS;
    block[MIN_USD * n + i] = order.minUsd ?? -Infinity;
    block[MAX_USD * n + i] = order.maxUsd ?? Infinity;
    block[SIDE * n + i] = order.direction === 'BUY' ? 1 : -1;
  }
  return block;
}

/** Totals of a block's orders, in range or not. */
export interface OrderTotals {
  buyCount: number;
  sellCount: number;
  totalBuyUsd: number;
  totalSellUsd: number;
}

export function totalsOf(block: Float64Array): OrderTotals {
  const n = block.length / ORDER_COLUMNS;
  const totals = { buyCount: 0, sellCount: 0, totalBuyUsd: 0, totalSellUsd: 0 };
  for (let i = 0; i < n; i++) {
    const remainingUsd = block[REMAINING * n + i];
    if (block[SIDE * n + i] > 0) {
      totals.buyCount++;
      totals.totalBuyUsd += remainingUsd;
    } else {
      totals.sellCount++;
      totals.totalSellUsd += remainingUsd;
    }
  }
  return totals;
}

/**
 * The orders' `usdNext` by timeframe: that of order `i` in timeframe `f` is `flows[f * n + i]`.
 * @param priceUsd NaN where the token has no price
 * @param flows at least `HORIZONS_S.length * n` long
 * @param nets gets the sum of BUY minus SELL by timeframe
 */
export function flowsOf(
  block: Float64Array,
  priceUsd: number,
  nowS: number,
  flows: Float64Array,
  nets: Float64Array,
): void {
  const n = block.length / ORDER_COLUMNS;
  nets.fill(0);
  for (let i = 0; i < n; i++) {
    // Without a price neither holds.
    const inRange = block[MIN_USD * n + i] <= priceUsd && priceUsd <= block[MAX_USD * n + i];
    if (!inRange) {
      for (let f = 0; f < HORIZONS_S.length; f++) flows[f * n + i] = 0;
      continue;
    }
    const frequencyS = block[FREQUENCY * n + i];
    const sinceFirstS = nowS - block[NEXT_CYCLE * n + i];
    const fired = cyclesBy(sinceFirstS, frequencyS);
    for (let f = 0; f < HORIZONS_S.length; f++) {
      const cycles = cyclesBy(sinceFirstS + HORIZONS_S[f], frequencyS) - fired;
      const usd = Math.min(block[REMAINING * n + i], block[CYCLE * n + i] * cycles);
      flows[f * n + i] = usd;
      nets[f] += block[SIDE * n + i] * usd;
    }
  }
}
