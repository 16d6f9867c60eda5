/** The active limit orders in memory: each leg's by price. */
import {
  compareByPrice,
  limitLadder,
  type LimitLadder,
} from '../../compute/orders/limit-orders.js';
import type { LimitOrder } from '../../compute/orders/limit-orders.js';
import type { OrderSource } from '../../storage/contract.js';
import type { Log } from '../log.js';
import { sortInTurns } from '../turns.js';
import type { Turns } from '../turns.js';
import { FollowedOrders } from './followed-orders.js';

export interface LimitBookOptions {
  source: Pick<OrderSource, 'limitOrders' | 'allLimitOrders'>;
  log: Log;
}

/** By the address of a leg: no two chains share one. */
export class LimitBook extends FollowedOrders<LimitOrder, LimitLadder> {
  constructor({ source, log }: LimitBookOptions) {
    const kind = {
      name: 'limit orders',
      readAll: () => source.allLimitOrders(),
      read: (addresses: readonly string[]) => source.limitOrders(addresses),
      keep: async (orders: readonly LimitOrder[], turns: Turns) =>
        limitLadder(await sortInTurns(orders, compareByPrice, turns)),
    };
    super(kind, log);
  }
}
