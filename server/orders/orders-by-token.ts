/**
 * Active orders in memory, by token. They follow the store by themselves, off the path of requests
 * and in turns: a token may have very many.
 */
import type { DcaOrder } from '../../compute/orders/dca-orders.js';
import {
  compareByPrice,
  limitLadder,
  type LimitLadder,
  type LimitOrder,
} from '../../compute/orders/limit-orders.js';
import type { OrderSource } from '../../storage/contract.js';
import { Follower } from '../follower.js';
import type { Log } from '../log.js';
import { sortInTurns, Turns } from '../turns.js';

/** Tokens whose orders are read with one query. */
const TOKENS_AT_ONCE = 64;

/** Orders of one kind: how they are read, and in what form a token's are kept. */
interface OrderKind<Order, Kept> {
  /** Their name in the log. */
  name: string;
  /** Every active order, some thousands at a time, in no order. */
  readAll(): AsyncIterable<Order[]>;
  /** The active orders of some tokens, in no order. */
  read(tokenAddresses: readonly string[]): Promise<Order[]>;
  /** Makes what is kept of a token's orders, at least one. */
  keep(orders: readonly Order[], turns: Turns): Kept | Promise<Kept>;
}

/** Gets the tokens whose orders have changed. */
type OrderListener = (tokenAddresses: readonly string[]) => void;

class OrdersByToken<Order extends { tokenAddress: string }, Kept extends object> {
  /** What is kept is never changed, only replaced; a token without an active order has nothing. */
  private readonly byToken = new Map<string, Kept>();
  private readonly listeners: OrderListener[] = [];
  private readonly follower: Follower<string>;

  constructor(
    private readonly kind: OrderKind<Order, Kept>,
    log: Log,
  ) {
    this.follower = new Follower({
      work: (addresses) => this.read(addresses),
      failure: `${kind.name} could not be read`,
      keyField: 'token_address',
      log,
      batchKeys: TOKENS_AT_ONCE,
    });
  }

  /** What is kept of a token's orders, the same object until they change; null: it has none. */
  get(tokenAddress: string): Kept | null {
    return this.byToken.get(tokenAddress) ?? null;
  }

  /** The tokens that have an active order, in no order. */
  tokens(): IterableIterator<string> {
    return this.byToken.keys();
  }

  onChange(listener: OrderListener): void {
    this.listeners.push(listener);
  }

  /** Takes note of a commit: the tokens' orders are read anew, soon and in the background. */
  touch(tokenAddresses: readonly string[]): void {
    this.follower.touch(tokenAddresses);
  }

  /** Reads every active order, then follows the store. Commits must be passed to `touch` from before on. */
  async start(): Promise<void> {
    const turns = new Turns();
    const lists = new Map<string, Order[]>();
    for await (const part of this.kind.readAll()) {
      for (const order of part) addTo(lists, order);
      await turns.take();
    }
    for (const [address, orders] of lists) {
      this.byToken.set(address, await this.kind.keep(orders, turns));
      await turns.take();
    }
    this.tell([...lists.keys()]);
    this.follower.start();
  }

  /** Resolves when everything that was touched so far has been read, or has failed once. */
  settled(): Promise<void> {
    return this.follower.settled();
  }

  /** Stops following, and waits for what is under way. */
  close(): Promise<void> {
    return this.follower.close();
  }

  private async read(addresses: readonly string[]): Promise<void> {
    const turns = new Turns();
    const lists = new Map<string, Order[]>();
    for (const order of await this.kind.read(addresses)) addTo(lists, order);
    for (const address of addresses) {
      const orders = lists.get(address);
      if (orders === undefined) this.byToken.delete(address);
      else this.byToken.set(address, await this.kind.keep(orders, turns));
      await turns.take();
    }
    this.tell(addresses);
  }

  private tell(addresses: readonly string[]): void {
    for (const listener of this.listeners) listener(addresses);
  }
}

function addTo<Order extends { tokenAddress: string }>(
  lists: Map<string, Order[]>,
  order: Order,
): void {
  const list = lists.get(order.tokenAddress);
  if (list === undefined) lists.set(order.tokenAddress, [order]);
  else list.push(order);
}

const NO_ORDERS: readonly DcaOrder[] = [];

/** The active DCA orders: each mint's by `dcaAddress`. */
export class DcaOrdersByToken extends OrdersByToken<DcaOrder, readonly DcaOrder[]> {
  constructor(source: Pick<OrderSource, 'dcaOrders' | 'allDcaOrders'>, log: Log) {
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
    return this.get(tokenAddress) ?? NO_ORDERS;
  }
}

function byAddress(a: DcaOrder, b: DcaOrder): number {
  return a.dcaAddress < b.dcaAddress ? -1 : a.dcaAddress > b.dcaAddress ? 1 : 0;
}

/** The active limit orders: each leg's by price, by the leg's address, which no two chains share. */
export class LimitOrdersByToken extends OrdersByToken<LimitOrder, LimitLadder> {
  constructor(source: Pick<OrderSource, 'limitOrders' | 'allLimitOrders'>, log: Log) {
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
