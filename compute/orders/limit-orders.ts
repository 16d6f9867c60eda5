/** A leg's limit orders by price, and those nearest to its price (docs/definitions.md#limit-orders). */
import type { Chain } from '../market.js';
import type { Direction } from './dca-orders.js';

/** A row of dataset `limit_orders` that is active: not closed, and `remainingUsd > 0`. */
export interface LimitOrder {
  orderAddress: string;
  chain: Chain;
  tokenAddress: string;
  direction: Direction;
  /** Name of the order platform, as given. */
  platform: string;
  pairedSymbol: string;
  /** Wallet address. */
  maker: string;
  /** > 0. */
  usdPrice: number;
  remainingUsd: number;
  /** Fraction that has been filled. */
  pctComplete: number;
  /** Epoch seconds. */
  createdAtS: number;
}

/** Active orders of one leg, in levels: those of one price. */
export interface LimitLadder {
  /** By price, then address, both ascending. */
  readonly orders: readonly LimitOrder[];
  /** Each level's price, ascending. */
  readonly levelPriceUsd: Float64Array;
  /** Level `i` is `orders[levelStart[i]..levelStart[i + 1]]`; one more than there are levels. */
  readonly levelStart: Uint32Array;
}

/** A leg to look for orders on. */
export interface LadderLeg {
  readonly ladder: LimitLadder;
  /** The leg's own current price. */
  readonly priceUsd: number;
}

export interface NearOrder {
  readonly order: LimitOrder;
  /** Index of the order's leg among those looked at. */
  readonly leg: number;
  /** `usd_price / current price - 1`, the price of the order's own leg. */
  readonly pctAway: number;
}

interface NearQuery {
  /** The range of `pctAway`, both ends included, compared as they are. */
  readonly lowChange: number;
  readonly highChange: number;
  /** At most this many orders. */
  readonly limit: number;
}

/** The order of a ladder's orders: by price, then address, both ascending. */
export function compareByPrice(a: LimitOrder, b: LimitOrder): number {
  return a.usdPrice - b.usdPrice || compareAddresses(a.orderAddress, b.orderAddress);
}

/** Puts a leg's orders, sorted by `compareByPrice`, in levels. */
export function limitLadder(orders: readonly LimitOrder[]): LimitLadder {
  const levelPriceUsd = new Float64Array(orders.length);
  const levelStart = new Uint32Array(orders.length + 1);
  let levels = 0;
  for (let i = 0; i < orders.length; i++) {
    const { usdPrice } = orders[i];
    if (levels > 0 && usdPrice === levelPriceUsd[levels - 1]) continue;
    levelPriceUsd[levels] = usdPrice;
    levelStart[levels++] = i;
  }
  levelStart[levels] = orders.length;
  return {
    orders,
    levelPriceUsd: levelPriceUsd.slice(0, levels),
    levelStart: levelStart.slice(0, levels + 1),
  };
}

/**
 * The orders nearest to their legs' prices, by `|pctAway|`, ties by address ascending. It costs as
 * many steps as there are orders in the answer, however many the legs have.
 */
export function nearestOrders(legs: readonly LadderLeg[], query: NearQuery): NearOrder[] {
  const cursors = legs.flatMap((leg, i) => [
    new Cursor(leg, i, 1, query),
    new Cursor(leg, i, -1, query),
  ]);
  const found: NearOrder[] = [];
  while (found.length < query.limit) {
    let distance = Infinity;
    for (const cursor of cursors) distance = Math.min(distance, cursor.distance);
    if (distance === Infinity) break;
    const room = query.limit - found.length;
    const level: NearOrder[] = [];
    let levels = 0;
    for (const cursor of cursors) {
      for (; cursor.distance === distance; cursor.next(), levels++) cursor.take(room, level);
    }
    if (levels > 1)
      level.sort((a, b) => compareAddresses(a.order.orderAddress, b.order.orderAddress));
    for (let i = 0; i < level.length && i < room; i++) found.push(level[i]);
  }
  return found;
}

/** Walks a leg's levels within the range away from its price, in one direction. */
class Cursor {
  /** `|pctAway|` of the level that it stands at; Infinity past the last. */
  distance = Infinity;
  private at: number;
  private pctAway = 0;

  constructor(
    private readonly side: LadderLeg,
    private readonly leg: number,
    private readonly step: 1 | -1,
    private readonly query: NearQuery,
  ) {
    const { lowChange, highChange } = query;
    // Upward from the price itself on, downward from below it.
    this.at =
      step === 1
        ? this.firstLevel((pct) => pct >= Math.max(lowChange, 0))
        : this.firstLevel((pct) => pct >= 0 || pct > highChange) - 1;
    this.look();
  }

  next(): void {
    this.at += this.step;
    this.look();
  }

  /** Adds the level's first orders, at most `room`. */
  take(room: number, into: NearOrder[]): void {
    const { orders, levelStart } = this.side.ladder;
    const from = levelStart[this.at];
    const to = Math.min(levelStart[this.at + 1], from + room);
    for (let i = from; i < to; i++) {
      into.push({ order: orders[i], leg: this.leg, pctAway: this.pctAway });
    }
  }

  private look(): void {
    const { levelPriceUsd } = this.side.ladder;
    const { lowChange, highChange } = this.query;
    this.distance = Infinity;
    if (this.at < 0 || this.at >= levelPriceUsd.length) return;
    this.pctAway = this.pctAwayOf(this.at);
    const isInRange = this.pctAway >= lowChange && this.pctAway <= highChange;
    if (isInRange) this.distance = Math.abs(this.pctAway);
  }

  private pctAwayOf(level: number): number {
    return this.side.ladder.levelPriceUsd[level] / this.side.priceUsd - 1;
  }

  /** The first level that passes, where all above one that does pass too. */
  private firstLevel(passes: (pctAway: number) => boolean): number {
    let low = 0;
    let high = this.side.ladder.levelPriceUsd.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (passes(this.pctAwayOf(middle))) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** In code unit order: what sorting by address means everywhere. */
function compareAddresses(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
