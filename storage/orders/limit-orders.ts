/** The table `limit_orders`: active limit orders, those that are neither closed nor used up. */
import type { Chain } from '../../compute/market.js';
import type { Direction } from '../../compute/orders/dca-orders.js';
import type { LimitOrder } from '../../compute/orders/limit-orders.js';
import {
  type ColumnReaders,
  type FlatSource,
  type FlatTable,
  readRows,
  readRowsOf,
} from '../flat-columns.js';
import { MAX_ACTIVE_ORDERS } from './dca-orders.js';

export const LIMIT_ORDERS: FlatTable = {
  name: 'limit_orders',
  columns: [
    'order_address',
    'chain',
    'token_address',
    'direction',
    'platform',
    'paired_symbol',
    'maker',
    'usd_price',
    'remaining_usd',
    'pct_complete',
    'created_at',
  ],
  keyColumns: 1,
  token: 'token_address',
  limit: { rows: MAX_ACTIVE_ORDERS, of: 'active orders' },
};

export function limitOrdersOf(
  source: FlatSource,
  tokens: readonly string[],
): Promise<LimitOrder[]> {
  return readRowsOf(source, LIMIT_ORDERS, limitOrder, tokens);
}

export function allLimitOrders(source: FlatSource): AsyncGenerator<LimitOrder[]> {
  return readRows(source, LIMIT_ORDERS, limitOrder);
}

function limitOrder({ text, shared, number }: ColumnReaders): (row: number) => LimitOrder {
  const address = text('order_address');
  const chain = shared<Chain>('chain');
  const token = shared('token_address');
  const direction = shared<Direction>('direction');
  const platform = shared('platform');
  const paired = shared('paired_symbol');
  const maker = shared('maker');
  const price = number('usd_price');
  const remaining = number('remaining_usd');
  const complete = number('pct_complete');
  const created = number('created_at');
  return (row) => ({
    orderAddress: address(row),
    chain: chain(row),
    tokenAddress: token(row),
    direction: direction(row),
    platform: platform(row),
    pairedSymbol: paired(row),
    maker: maker(row),
    usdPrice: price(row),
    remainingUsd: remaining(row),
    pctComplete: complete(row),
    createdAtS: created(row),
  });
}
