/** A leg's limit orders by price, and those nearest to its price (docs/definitions.md#limit-orders). */
import type { Chain } from '../market.js';
import { firstIndex } from '../search.js';
import type { Direction } from './dca-orders.js';

/** A row of dataset `limit_orders` that is active: not closed, and `remainingUsd > 0`. */
export interface LimitOrder {
  orderAddress: string;
  chain: Chain;
  tokenAddress: string;
  direction: Direction;
  /** Name of the order platform, as imported. */
  platform: string;
  pairedSymbol: string;
  /** Wallet address. */
  maker: string;
  /** > 0. */
  usdPrice: number;
  remainingUsd: number;
  /** Filled fraction. */
  pctComplete: number;
  /** Epoch seconds. */
  createdAtS: number;
}

/** A leg's active orders; orders at the same price form a level. */
export interface LimitLadder {
  /** By price, then address, both ascending. */
  readonly orders: readonly LimitOrder[];
  /** Each level's price, ascending. */
  readonly levelPriceUsd: Float64Array;
  /** Level `i` is `orders[levelStart[i]..levelStart[i + 1])`; one item more than levels. */
  readonly levelStart: Uint32Array;
}

/** A leg to search for orders. */
export interface LadderLeg {
  readonly ladder: LimitLadder;
  /** The leg's own current price. */
  readonly priceUsd: number;
}

export interface NearOrder {
  readonly order: LimitOrder;
  /** Index of the order's leg among the searched ones. */
  readonly leg: number;
  /** `usd_price / current price - 1`, with the price of the order's own leg. */
  readonly pctAway: number;
}

interface NearQuery {
  /** Range of `pctAway`, inclusive at both ends, compared without a tolerance. */
  readonly lowChange: number;
  readonly highChange: number;
  /** Greatest number of orders. */
  readonly limit: number;
}

/** The order of a ladder's orders: by price, then address, both ascending. */
export function compareByPrice(a: LimitOrder, b: LimitOrder): number {
  return a.usdPrice - b.usdPrice || compareAddresses(a.orderAddress, b.orderAddress);
}

/** Groups a leg's orders, sorted by `compareByPrice`, into levels. */
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
 * The orders nearest to their legs' prices, by `|pctAway|`, ties by address ascending. The cost depends on
 * the number of orders found, not on how many orders the legs have.
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
    const missing = query.limit - found.length;
    const level: NearOrder[] = [];
    let levels = 0;
    for (const cursor of cursors) {
      for (; cursor.distance === distance; cursor.next(), levels++) cursor.take(missing, level);
    }
    if (levels > 1)
      level.sort((a, b) => compareAddresses(a.order.orderAddress, b.order.orderAddress));
    for (let i = 0; i < level.length && i < missing; i++) found.push(level[i]);
  }
  return found;
}

/** Walks over a leg's levels in the range, away from its price, in one direction. */
class Cursor {
  /** `|pctAway|` of the current level; Infinity past the last. */
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
    // Upward starts at the price itself, downward below it.
    this.at =
      step === 1
        ? this.firstLevel((pct) => pct >= Math.max(lowChange, 0))
        : this.firstLevel((pct) => pct >= 0 || pct > highChange) - 1;
    this.readLevel();
  }

  next(): void {
    this.at += this.step;
    this.readLevel();
  }

  /** Adds the level's first orders, at most `limit`. */
  take(limit: number, into: NearOrder[]): void {
    const { orders, levelStart } = this.side.ladder;
    const from = levelStart[this.at];
    const to = Math.min(levelStart[this.at + 1], from + limit);
    for (let i = from; i < to; i++) {
      into.push({ order: orders[i], leg: this.leg, pctAway: this.pctAway });
    }
  }

  private readLevel(): void {
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

  /** The first level for which `passes` holds, as it must for every higher level. */
  private firstLevel(passes: (pctAway: number) => boolean): number {
    const { length } = this.side.ladder.levelPriceUsd;
    return firstIndex(0, length, (level) => passes(this.pctAwayOf(level)));
  }
}

/** The order of addresses everywhere in Fathom: by code unit. */
export function compareAddresses(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
