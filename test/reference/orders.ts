/** Plain and slow order endpoints (docs/definitions.md#dca-orders, docs/definitions.md#limit-orders). */
import type { DcaOrder } from '../../compute/orders/dca-orders.js';
import type { LimitOrder } from '../../compute/orders/limit-orders.js';
import { plainMove } from './flow.js';

interface PlainLeg {
  orders: readonly LimitOrder[];
  /** null if unknown. */
  priceUsd: number | null;
}

/** `[order address, pct_away]`, nearest first, of the requested legs. */
export function plainLimitOrders(
  legs: readonly PlainLeg[],
  lowChange: number,
  highChange: number,
  limit: number,
): [string, number][] {
  const all: [string, number][] = [];
  for (const { orders, priceUsd } of legs) {
    if (priceUsd === null) continue;
    for (const { orderAddress, usdPrice } of orders) {
      const pctAway = usdPrice / priceUsd - 1;
      if (pctAway >= lowChange && pctAway <= highChange) all.push([orderAddress, pctAway]);
    }
  }
  all.sort(([a, x], [b, y]) => Math.abs(x) - Math.abs(y) || (a < b ? -1 : 1));
  return all.slice(0, limit);
}

/** `[bin, support_usd, resistance_usd]` of a ladder. */
export type PlainBin = readonly [number, number, number];

interface PlainDcaToken {
  priceUsd: number | null;
  /** null without a snapshot. */
  ladder: readonly PlainBin[] | null;
}

const DAY_S = 86_400;

/** USD that an order trades in `(now, now + 24 h]`: its cycles, one by one. */
function plainDayFlow(order: DcaOrder, priceUsd: number | null, nowS: number): number {
  if (priceUsd === null) return 0;
  if (order.minUsd !== null && priceUsd < order.minUsd) return 0;
  if (order.maxUsd !== null && priceUsd > order.maxUsd) return 0;
  let cycles = 0;
  for (let t = order.nextCycleAtS; t <= nowS + DAY_S; t += order.cycleFrequencyS) {
    if (t > nowS) cycles++;
  }
  return Math.min(order.remainingUsd, order.cycleUsd * cycles);
}

/** The size of the move, in percent, that a flow would cause alone; null if there is no depth to use up. */
function plainMoveSize(
  ladder: readonly PlainBin[] | null,
  direction: 'BUY' | 'SELL',
  flowUsd: number,
): number | null {
  if (flowUsd === 0) return 0;
  const up = direction === 'BUY';
  const bins = (ladder ?? []).map(([bin, support, resistance]) => ({
    bin,
    amount: up ? resistance : support,
  }));
  const move = plainMove(bins, up, flowUsd);
  return move === null ? null : Math.abs(move);
}

/** Addresses of the orders in the order of `dca-orders`. */
export function plainDcaOrders(
  orders: readonly DcaOrder[],
  { priceUsd, ladder }: PlainDcaToken,
  sort: 'pct_impact' | 'usd_flow',
  nowS: number,
  limit: number,
): string[] {
  const sized = orders.map((order) => {
    const flow = plainDayFlow(order, priceUsd, nowS);
    const size = sort === 'usd_flow' ? flow : plainMoveSize(ladder, order.direction, flow);
    return { address: order.dcaAddress, size };
  });
  sized.sort((a, b) => {
    if (a.size !== null && b.size !== null && a.size !== b.size) return b.size - a.size;
    if ((a.size === null) !== (b.size === null)) return a.size === null ? 1 : -1;
    return a.address < b.address ? -1 : 1;
  });
  return sized.slice(0, limit).map(({ address }) => address);
}
