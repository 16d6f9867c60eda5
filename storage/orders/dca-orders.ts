/** The table `dca_orders`: active DCA orders, neither closed nor used up. */
import type { DcaOrder, Direction } from '../../compute/orders/dca-orders.js';
import type { ColumnReaders, FlatTable } from '../flat-columns.js';

/** Active orders of one dataset: the server keeps all of them in memory. */
export const MAX_ACTIVE_ORDERS = 1_000_000;

export const DCA_ORDERS = {
  name: 'dca_orders',
  columns: {
    dca_address: 'text',
    token_address: 'shared',
    direction: 'shared',
    paired_symbol: 'shared',
    deposited_usd: 'number',
    remaining_usd: 'number',
    cycle_usd: 'number',
    cycle_frequency: 'number',
    next_cycle_at: 'number',
    min_usd: 'nullable',
    max_usd: 'nullable',
  },
  keyColumns: 1,
  token: 'token_address',
  limit: { rows: MAX_ACTIVE_ORDERS, of: 'active orders' },
} as const satisfies FlatTable;

export function dcaOrder(
  columns: ColumnReaders<typeof DCA_ORDERS.columns>,
): (row: number) => DcaOrder {
  return (row) => ({
    dcaAddress: columns.dca_address(row),
    tokenAddress: columns.token_address(row),
    direction: columns.direction(row) as Direction,
    pairedSymbol: columns.paired_symbol(row),
    depositedUsd: columns.deposited_usd(row),
    remainingUsd: columns.remaining_usd(row),
    cycleUsd: columns.cycle_usd(row),
    cycleFrequencyS: columns.cycle_frequency(row),
    nextCycleAtS: columns.next_cycle_at(row),
    minUsd: columns.min_usd(row),
    maxUsd: columns.max_usd(row),
  });
}
