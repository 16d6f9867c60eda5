/**
 * Active orders in memory, by token. They are reread in the background after commits, in turns: a
 * token may have very many.
 */
import { isDamage } from '../../compute/damage.js';
import { pushTo } from '../../compute/collections.js';
import type { DcaOrder } from '../../compute/orders/dca-orders.js';
import {
  compareAddresses,
  compareByPrice,
  limitLadder,
  type LimitLadder,
  type LimitOrder,
} from '../../compute/orders/limit-orders.js';
import type { ActiveOrders } from '../../storage/contract.js';
import { Updater } from '../updater.js';
import type { Logger } from '../logger.js';
import { sortInTurns, Turns } from '../../storage/turns.js';

/** Tokens whose orders one query reads. */
const TOKENS_AT_ONCE = 64;

class OrdersByToken<Order extends { tokenAddress: string }, Kept extends object> {
  /** Values are replaced, never changed; a token without an active order has no entry. */
  private readonly byToken = new Map<string, Kept>();
  /** Called with the tokens whose orders have changed. */
  onChange: (tokenAddresses: readonly string[]) => void = () => undefined;
  /** Why some orders could not be read; null: all were read. */
  private damage: Error | null = null;
  private readonly updater: Updater<string>;

  /**
   * @param kind names the orders for the log
   * @param keep turns a token's orders, at least one, into their kept form
   */
  constructor(
    private readonly kind: string,
    private readonly source: ActiveOrders<Order>,
    private readonly logger: Logger,
    private readonly keep: (orders: readonly Order[], turns: Turns) => Promise<Kept>,
  ) {
    this.updater = new Updater({
      work: (addresses) => this.read(addresses),
      failure: `${kind} could not be read`,
      keyField: 'token_address',
      logger,
      batchKeys: TOKENS_AT_ONCE,
    });
  }

  /** A token's orders, the same object until they change; null: it has none. */
  get(tokenAddress: string): Kept | null {
    return this.byToken.get(tokenAddress) ?? null;
  }

  /** @throws Error if the stored orders are damaged */
  checkReadable(): void {
    if (this.damage !== null) throw this.damage;
  }

  /** Tokens with an active order, unordered. */
  tokens(): IterableIterator<string> {
    return this.byToken.keys();
  }

  /** Rereads the tokens' orders, soon and in the background. */
  touch(tokenAddresses: readonly string[]): void {
    this.updater.touch(tokenAddresses);
  }

  /** Reads all active orders, then follows the store. Call `touch` for commits from before the start. */
  async start(): Promise<void> {
    const turns = new Turns();
    const lists = new Map<string, Order[]>();
    try {
      for await (const part of this.source.all()) {
        for (const order of part) pushTo(lists, order.tokenAddress, order);
        await turns.take();
      }
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.damage = error;
      this.logger.error(`${this.kind} are damaged`, {}, error);
    }
    for (const [address, orders] of lists) {
      this.byToken.set(address, await this.keep(orders, turns));
      await turns.take();
    }
    this.onChange([...lists.keys()]);
    this.updater.start();
  }

  /** Resolves when the orders of every touched token are read, or have failed once. */
  settled(): Promise<void> {
    return this.updater.settled();
  }

  /** Stops following the store, and waits for the current work. */
  close(): Promise<void> {
    return this.updater.close();
  }

  private async read(addresses: readonly string[]): Promise<void> {
    const turns = new Turns();
    const lists = new Map<string, Order[]>();
    for (const order of await this.source.of(addresses)) {
      pushTo(lists, order.tokenAddress, order);
      await turns.take();
    }
    for (const address of addresses) {
      const orders = lists.get(address);
      if (orders === undefined) this.byToken.delete(address);
      else this.byToken.set(address, await this.keep(orders, turns));
      await turns.take();
    }
    this.onChange(addresses);
  }
}

const NO_ORDERS: readonly DcaOrder[] = [];

/** Active DCA orders by mint. */
export class DcaOrdersByToken extends OrdersByToken<DcaOrder, readonly DcaOrder[]> {
  constructor(source: ActiveOrders<DcaOrder>, logger: Logger) {
    super('DCA orders', source, logger, (orders, turns) =>
      sortInTurns(orders, (a, b) => compareAddresses(a.dcaAddress, b.dcaAddress), turns),
    );
  }

  /** A mint's active orders, ascending by `dcaAddress`; the same array until they change. */
  orders(tokenAddress: string): readonly DcaOrder[] {
    return this.get(tokenAddress) ?? NO_ORDERS;
  }
}

/** Active limit orders by the leg's address, which no two chains share; each leg's by price. */
export class LimitOrdersByToken extends OrdersByToken<LimitOrder, LimitLadder> {
  constructor(source: ActiveOrders<LimitOrder>, logger: Logger) {
    super('limit orders', source, logger, async (orders, turns) =>
      limitLadder(await sortInTurns(orders, compareByPrice, turns)),
    );
  }
}
