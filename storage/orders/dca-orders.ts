/** The table `dca_orders`: active DCA orders, those that are neither closed nor used up. */
import type { DcaOrder, Direction } from '../../compute/orders/dca-orders.js';
import {
  type ColumnReaders,
  type FlatSource,
  type FlatTable,
  readRows,
  readRowsOf,
} from '../flat-columns.js';

/** Active orders of one dataset: the server holds all of them in memory. */
export const MAX_ACTIVE_ORDERS = 1_000_000;

export const DCA_ORDERS: FlatTable = {
  name: 'dca_orders',
  columns: [
    'dca_address',
    'token_address',
    'direction',
    'paired_symbol',
    'deposited_usd',
    'remaining_usd',
    'cycle_usd',
    'cycle_frequency',
    'next_cycle_at',
    'min_usd',
    'max_usd',
  ],
  keyColumns: 1,
  token: 'token_address',
  limit: { rows: MAX_ACTIVE_ORDERS, of: 'active orders' },
};

export function dcaOrdersOf(source: FlatSource, tokens: readonly string[]): Promise<DcaOrder[]> {
  return readRowsOf(source, DCA_ORDERS, dcaOrder, tokens);
}

export function allDcaOrders(source: FlatSource): AsyncGenerator<DcaOrder[]> {
  return readRows(source, DCA_ORDERS, dcaOrder);
}

function dcaOrder({ text, shared, number, nullable }: ColumnReaders): (row: number) => DcaOrder {
  const address = text('dca_address');
  const token = shared('token_address');
  const direction = shared<Direction>('direction');
  const paired = shared('paired_symbol');
  const deposited = number('deposited_usd');
  const remaining = number('remaining_usd');
  const cycle = number('cycle_usd');
  const frequency = number('cycle_frequency');
  const next = number('next_cycle_at');
  const min = nullable('min_usd');
  const max = nullable('max_usd');
  return (row) => ({
    dcaAddress: address(row),
    tokenAddress: token(row),
    direction: direction(row),
    pairedSymbol: paired(row),
    depositedUsd: deposited(row),
    remainingUsd: remaining(row),
    cycleUsd: cycle(row),
    cycleFrequencyS: frequency(row),
    nextCycleAtS: next(row),
    minUsd: min(row),
    maxUsd: max(row),
  });
}
