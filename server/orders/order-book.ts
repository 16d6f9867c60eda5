/** The active DCA orders in memory: each mint's by `dcaAddress`. */
import type { DcaOrder } from '../../compute/orders/dca-orders.js';
import type { OrderSource } from '../../storage/contract.js';
import type { Log } from '../log.js';
import { sortInTurns } from '../turns.js';
import type { Turns } from '../turns.js';
import { FollowedOrders } from './followed-orders.js';

export interface OrderBookOptions {
  source: Pick<OrderSource, 'dcaOrders' | 'allDcaOrders'>;
  log: Log;
}

const NONE: readonly DcaOrder[] = [];

export class OrderBook extends FollowedOrders<DcaOrder, readonly DcaOrder[]> {
  constructor({ source, log }: OrderBookOptions) {
    const kind = {
      name: 'DCA orders',
      readAll: () => source.allDcaOrders(),
      read: (addresses: readonly string[]) => source.dcaOrders(addresses),
      keep: (orders: readonly DcaOrder[], turns: Turns) => sortInTurns(orders, byAddress, turns),
    };
    super(kind, log);
  }

  /** A mint's active orders by `dcaAddress` ascending; the same array until they change. */
  orders(tokenAddress: string): readonly DcaOrder[] {
    return this.get(tokenAddress) ?? NONE;
  }
}

function byAddress(a: DcaOrder, b: DcaOrder): number {
  return a.dcaAddress < b.dcaAddress ? -1 : a.dcaAddress > b.dcaAddress ? 1 : 0;
}
