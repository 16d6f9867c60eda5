/** The table `limit_orders`: active limit orders, neither closed nor used up. */
import type { Chain } from '../../compute/market.js';
import type { Direction } from '../../compute/orders/dca-orders.js';
import type { LimitOrder } from '../../compute/orders/limit-orders.js';
import type { ColumnReaders, FlatTable } from '../flat-columns.js';
import { MAX_ACTIVE_ORDERS } from './dca-orders.js';

export const LIMIT_ORDERS = {
  name: 'limit_orders',
  columns: {
    order_address: 'text',
    chain: 'shared',
    token_address: 'shared',
    direction: 'shared',
    platform: 'shared',
    paired_symbol: 'shared',
    maker: 'shared',
    usd_price: 'number',
    remaining_usd: 'number',
    pct_complete: 'number',
    created_at: 'number',
  },
  keyColumns: 1,
  token: 'token_address',
  limit: { rows: MAX_ACTIVE_ORDERS, of: 'active orders' },
} as const satisfies FlatTable;

export function limitOrder(
  columns: ColumnReaders<typeof LIMIT_ORDERS.columns>,
): (row: number) => LimitOrder {
  return (row) => ({
    orderAddress: columns.order_address(row),
    chain: columns.chain(row) as Chain,
    tokenAddress: columns.token_address(row),
    direction: columns.direction(row) as Direction,
    platform: columns.platform(row),
    pairedSymbol: columns.paired_symbol(row),
    maker: columns.maker(row),
    usdPrice: columns.usd_price(row),
    remainingUsd: columns.remaining_usd(row),
    pctComplete: columns.pct_complete(row),
    createdAtS: columns.created_at(row),
  });
}
