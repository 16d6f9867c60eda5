/** The tokens of the pressure board, and their orders and ladders in memory that threads share. */
import type { DcaOrder } from '../../compute/orders/dca-orders.js';
import { packOrders, type PressureInput } from '../../compute/orders/pressure.js';
import type { BinSums } from '../../compute/segment/snapshots.js';
import { currentPriceUsd, type LiveToken, type TokenTable } from '../tokens/token-table.js';
import type { Turns } from '../turns.js';
import type { OrderBook } from './order-book.js';
import { type Block, SharedBlocks } from './shared-blocks.js';

/** A token on the board, as it was when the row was made; rows are replaced, never changed. */
export interface PressureRow {
  readonly token: LiveToken;
  readonly orders: readonly DcaOrder[];
  readonly ordersBlock: Block;
  readonly ladder: BinSums | null;
  readonly ladderBlock: Block | null;
}

export class PressureRows {
  private readonly byAddress = new Map<string, PressureRow>();
  private readonly orderBlocks = new SharedBlocks();
  private readonly ladderBlocks = new SharedBlocks();
  private sorted: readonly PressureRow[] = [];
  /** Of all rows, ascending; perhaps of some that have gone since. */
  private addresses: string[] = [];
  /** Whether a row has come since. */
  private joined = false;

  constructor(
    private readonly state: Pick<TokenTable, 'token'>,
    private readonly book: Pick<OrderBook, 'orders'>,
  ) {}

  /** Rows by address ascending; the array is replaced, never changed. */
  get rows(): readonly PressureRow[] {
    return this.sorted;
  }

  /** Whether a change of the token's market is one of the board's. */
  concerns(address: string): boolean {
    return this.byAddress.has(address) || this.book.orders(address).length > 0;
  }

  /**
   * Looks at tokens again: those with a record and an active order are on the board.
   * @param touched loses each token that has been looked at
   */
  async update(touched: Set<string>, turns: Turns): Promise<void> {
    let changed = false;
    for (const address of touched) {
      touched.delete(address);
      changed = (await this.updateOne(address, turns)) || changed;
      await turns.take();
    }
    if (this.joined) this.addresses = [...this.byAddress.keys()].sort();
    this.joined = false;
    if (!changed) return;
    this.sorted = this.addresses.flatMap((address) => this.byAddress.get(address) ?? []);
  }

  /** What the pool ranks: the rows as they are. */
  input(nowS: number): PressureInput {
    const { rows } = this;
    const input: PressureInput = {
      nowS,
      orders: this.orderBlocks.memory,
      ladders: this.ladderBlocks.memory,
      ordersAt: new Uint32Array(rows.length),
      orderCount: new Uint32Array(rows.length),
      priceUsd: new Float64Array(rows.length),
      ladderAt: new Uint32Array(rows.length),
      binCount: new Uint32Array(rows.length),
      firstBin: new Int16Array(rows.length),
    };
    for (const [i, { token, orders, ordersBlock, ladder, ladderBlock }] of rows.entries()) {
      input.ordersAt[i] = ordersBlock.at;
      input.orderCount[i] = orders.length;
      input.priceUsd[i] = currentPriceUsd(token) ?? NaN;
      input.ladderAt[i] = ladderBlock?.at ?? 0;
      input.binCount[i] = ladder?.supportCents.length ?? 0;
      input.firstBin[i] = ladder?.firstBin ?? 0;
    }
    return input;
  }

  /** @returns whether there is a change of the rows */
  private async updateOne(address: string, turns: Turns): Promise<boolean> {
    const before = this.byAddress.get(address);
    const now = this.state.token(address);
    const orders = this.book.orders(address);
    if (now === null || orders.length === 0) {
      if (before === undefined) return false;
      this.byAddress.delete(address);
      this.dropBlocks(before);
      return true;
    }
    // The state's own object changes as the market does.
    const token = { ...now };
    const ladder = token.newest?.spot ?? null;
    if (before?.token.revision === token.revision && before.orders === orders) return false;
    const sameOrders = before?.orders === orders;
    const sameLadder = before?.ladder === ladder;
    if (before && !sameOrders) this.orderBlocks.drop(before.ordersBlock);
    if (before?.ladderBlock && !sameLadder) this.ladderBlocks.drop(before.ladderBlock);
    const row: PressureRow = {
      token,
      orders,
      ordersBlock: sameOrders
        ? before.ordersBlock
        : await this.orderBlocks.put([packOrders(orders)], turns),
      ladder,
      ladderBlock: sameLadder ? before.ladderBlock : await this.putLadder(ladder, turns),
    };
    if (before === undefined) this.joined = true;
    this.byAddress.set(address, row);
    return true;
  }

  private async putLadder(ladder: BinSums | null, turns: Turns): Promise<Block | null> {
    if (ladder === null) return null;
    return this.ladderBlocks.put([ladder.supportCents, ladder.resistanceCents], turns);
  }

  private dropBlocks({ ordersBlock, ladderBlock }: PressureRow): void {
    this.orderBlocks.drop(ordersBlock);
    if (ladderBlock !== null) this.ladderBlocks.drop(ladderBlock);
  }
}
