/** Active orders kept in memory, as a store serves them: in no order. */
import type { DcaOrder } from '../../compute/orders/dca-orders.js';
import type { LimitOrder } from '../../compute/orders/limit-orders.js';
import type { OrderSource } from '../../storage/contract.js';

/** Orders of one batch of all. */
const BATCH = 1000;

export class MemoryOrders implements OrderSource {
  dca: DcaOrder[] = [];
  limit: LimitOrder[] = [];
  /** Addresses that were asked for, query by query. */
  readonly asked: (readonly string[])[] = [];
  /** What the next queries for some tokens' orders fail with. */
  readonly failures: Error[] = [];

  dcaOrders(tokenAddresses: readonly string[]): Promise<DcaOrder[]> {
    return this.of(this.dca, tokenAddresses);
  }

  limitOrders(tokenAddresses: readonly string[]): Promise<LimitOrder[]> {
    return this.of(this.limit, tokenAddresses);
  }

  allDcaOrders(): AsyncGenerator<DcaOrder[]> {
    return batches(this.dca);
  }

  allLimitOrders(): AsyncGenerator<LimitOrder[]> {
    return batches(this.limit);
  }

  private async of<T extends DcaOrder | LimitOrder>(
    orders: readonly T[],
    addresses: readonly string[],
  ): Promise<T[]> {
    this.asked.push(addresses);
    await Promise.resolve();
    const failure = this.failures.shift();
    if (failure !== undefined) throw failure;
    return orders.filter(({ tokenAddress }) => addresses.includes(tokenAddress));
  }
}

async function* batches<T>(orders: readonly T[]): AsyncGenerator<T[]> {
  await Promise.resolve();
  for (let from = 0; from < orders.length; from += BATCH) yield orders.slice(from, from + BATCH);
}
