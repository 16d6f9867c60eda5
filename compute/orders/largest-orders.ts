/** The largest DCA orders of a token (docs/definitions.md#dca-orders). */
import { impactPct } from '../depth/slippage.js';
import type { BinSums } from '../segment/snapshots.js';
import { DAY_S } from '../time.js';
import { type DcaOrder, usdNext } from './dca-orders.js';

/** Only flows within this time count. */
const HORIZON_S = DAY_S;
/** The size of a flow without depth to trade against: below every real size, so its orders rank last. */
const NO_DEPTH = -1;

/** Orders rank by the price move that their flow alone would cause, or by the flow. */
type OrderSize = 'pct_impact' | 'usd_flow';

interface RankingState {
  /** The token's current price; null if unknown. */
  priceUsd: number | null;
  /** The depth that flows use up; null if there is none. */
  ladder: BinSums | null;
  /** The service's time. */
  nowS: number;
}

/** Keeps the largest of the orders added to it. */
export class LargestOrders {
  /** Largest first, ties by address; parallel to `sizes`. */
  readonly orders: DcaOrder[] = [];
  private readonly sizes: number[] = [];
  /** By direction, the flow that an order must exceed to be kept: a larger flow moves the price further. */
  private readonly tooSmallUsd = { BUY: -Infinity, SELL: -Infinity };

  /** @param limit how many orders are kept */
  constructor(
    private readonly by: OrderSize,
    private readonly state: RankingState,
    private readonly limit: number,
  ) {}

  /** Adds `orders[from..to)`. Over all calls, orders must ascend by address. */
  add(orders: readonly DcaOrder[], from = 0, to = orders.length): void {
    const { priceUsd, nowS } = this.state;
    for (let i = from; i < to; i++) {
      const order = orders[i];
      const flowUsd = usdNext(order, priceUsd, nowS, HORIZON_S);
      // An order without a flow does not move the price, but ranks before a flow without depth.
      if (flowUsd === 0 || flowUsd > this.tooSmallUsd[order.direction]) {
        this.consider(order, flowUsd);
      }
    }
  }

  private consider(order: DcaOrder, flowUsd: number): void {
    const { orders: best, sizes, limit } = this;
    const size = this.sizeOf(order, flowUsd);
    const isFull = best.length === limit;
    // Earlier orders have lower addresses, so they stay ahead of orders of equal size.
    if (isFull && size <= sizes[limit - 1]) {
      this.tooSmallUsd[order.direction] = Math.max(this.tooSmallUsd[order.direction], flowUsd);
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
