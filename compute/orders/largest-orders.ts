/** A token's DCA orders by what they are about to do (docs/definitions.md#dca-orders). */
import type { BinSums } from '../segment/snapshots.js';
import { type DcaOrder, usdNext } from './dca-orders.js';
import { impactPct } from './impact.js';

/** Flows of this long count. */
const HORIZON_S = 86_400;
/** Below any order's: a move without depth to move along ranks last. */
const NO_DEPTH = -1;

/** What orders are ranked by: the size of the move that their flow alone would cause, or the flow. */
type OrderSize = 'pct_impact' | 'usd_flow';

interface RankingState {
  /** The token's current price; null: none is known. */
  priceUsd: number | null;
  /** What flows move along; null: there is no depth. */
  ladder: BinSums | null;
  /** The service's now. */
  nowS: number;
}

/** The largest of the orders that it is shown, one after the other. */
export class LargestOrders {
  /** Largest first; parallel to `sizes`. */
  private readonly best: DcaOrder[] = [];
  private readonly sizes: number[] = [];
  /** Flows up to which an order of each direction cannot come in any more: a move grows with them. */
  private readonly hopeless = { BUY: -Infinity, SELL: -Infinity };

  /** @param limit at most this many are kept */
  constructor(
    private readonly by: OrderSize,
    private readonly state: RankingState,
    private readonly limit: number,
  ) {}

  /** Shows it the orders `from..to` of a list; all together they come by address ascending. */
  show(orders: readonly DcaOrder[], from = 0, to = orders.length): void {
    const { priceUsd, nowS } = this.state;
    for (let i = from; i < to; i++) {
      const order = orders[i];
      const flowUsd = usdNext(order, priceUsd, nowS, HORIZON_S);
      // No flow, no move: that one is larger than one which has no depth to move along.
      if (flowUsd === 0 || flowUsd > this.hopeless[order.direction]) {
        this.consider(order, flowUsd);
      }
    }
  }

  /** Largest first, ties by address. */
  get orders(): readonly DcaOrder[] {
    return this.best;
  }

  private consider(order: DcaOrder, flowUsd: number): void {
    const { best, sizes, limit } = this;
    const size = this.sizeOf(order, flowUsd);
    const isFull = best.length === limit;
    // One that came before has the lower address: it stays in front of its equals.
    if (isFull && size <= sizes[limit - 1]) {
      this.hopeless[order.direction] = Math.max(this.hopeless[order.direction], flowUsd);
      return;
    }
    if (isFull) {
      best.pop();
      sizes.pop();
    }
    let at = best.length;
    while (at > 0 && size > sizes[at - 1]) at--;
    best.splice(at, 0, order);
    sizes.splice(at, 0, size);
  }

  private sizeOf({ direction }: DcaOrder, flowUsd: number): number {
    if (this.by === 'usd_flow') return flowUsd;
    const pct = impactPct(this.state.ladder, direction === 'BUY' ? flowUsd : -flowUsd);
    return pct === null ? NO_DEPTH : Math.abs(pct);
  }
}
