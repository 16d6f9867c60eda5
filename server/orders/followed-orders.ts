/**
 * Active orders in memory, by token. They follow the store by themselves, off the path of requests
 * and in turns: a token may have very many.
 */
import { Follower } from '../follower.js';
import type { Log } from '../log.js';
import { Turns } from '../turns.js';

/** Tokens whose orders are read with one query. */
const TOKENS_AT_ONCE = 64;

/** Orders of one kind: how they are read, and in what form a token's are kept. */
export interface FollowedKind<Order, Kept> {
  /** As the log calls them. */
  name: string;
  /** Every active order, some thousands at a time, in no order. */
  readAll(): AsyncIterable<Order[]>;
  /** The active orders of some tokens, in no order. */
  read(tokenAddresses: readonly string[]): Promise<Order[]>;
  /** Makes what is kept of a token's orders, of which there is one at least. */
  keep(orders: readonly Order[], turns: Turns): Kept | Promise<Kept>;
}

/** Told of the tokens whose orders are other ones now. */
export type OrderListener = (tokenAddresses: readonly string[]) => void;

export class FollowedOrders<Order extends { tokenAddress: string }, Kept extends object> {
  /** What is kept is never changed, only replaced; a token without an active order has nothing. */
  private readonly byToken = new Map<string, Kept>();
  private readonly listeners: OrderListener[] = [];
  private readonly follower: Follower<string>;

  constructor(
    private readonly kind: FollowedKind<Order, Kept>,
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

  /** Reads every active order, then follows the store, to be told of commits from before this on. */
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
