/**
 * The board of GET /dca-pressure. The pool ranks it when orders, prices or ladders of its tokens
 * change, and as time passes.
 */
import type { DcaOrder } from '../../compute/orders/dca-orders.js';
import {
  packOrders,
  type PressureInput,
  type PressureRanking,
} from '../../compute/orders/pressure.js';
import type { ComputePool } from '../../compute/pool.js';
import type { BinSums } from '../../compute/segment/snapshots.js';
import type { Clock } from '../clock.js';
import { Board } from '../board.js';
import type { Logger } from '../logger.js';
import { currentPriceUsd, type LiveToken, type TokenTable } from '../tokens/token-table.js';
import { Turns } from '../../storage/turns.js';
import type { DcaOrdersByToken } from './orders-by-token.js';
import { type SharedColumn, SharedColumns } from './shared-columns.js';

/** Maximum age of a board in a reply while the clock runs, as the API promises. */
const MAX_BOARD_AGE_S = 15;
/** A board of this age is ranked again even without changes: this leaves time for the ranking. */
const REFRESH_AFTER_S = MAX_BOARD_AGE_S / 3;
/** Longest delay of a ranking: what then remains of MAX_BOARD_AGE_S is for its work. */
const MAX_PAUSE_MS = 6_000;
const RETRY_AFTER_MS = 1_000;

interface PressureOptions {
  tokens: Pick<TokenTable, 'token'>;
  /** Call `touch` when these, or tokens, change. */
  orders: Pick<DcaOrdersByToken, 'orders' | 'tokens' | 'checkReadable'>;
  pool: Pick<ComputePool, 'run'>;
  clock: Clock;
  logger: Logger;
}

/** A ranking and its tokens: row `i` is token `i` of the ranking. Immutable. */
export interface Pressure {
  rows: readonly PressureRow[];
  ranking: PressureRanking;
}

export class PressureBoard {
  readonly board: Board<Pressure>;
  private readonly rows: PressureRows;
  private readonly touched = new Set<string>();

  constructor(private readonly options: PressureOptions) {
    this.rows = new PressureRows(options.tokens, options.orders);
    this.board = new Board({
      build: () => this.rank(),
      // The system's clock may also be set back.
      isOutOfDate: (current) =>
        current !== null &&
        Math.abs(options.clock.nowS() - current.ranking.nowS) >= REFRESH_AFTER_S,
      failure: 'DCA pressure could not be ranked',
      logger: options.logger,
      maxPauseMs: MAX_PAUSE_MS,
      retryAfterMs: RETRY_AFTER_MS,
    });
  }

  /** The newest board. @throws Error before `start`, or if orders are damaged */
  get current(): Pressure {
    this.options.orders.checkReadable();
    if (this.board.current === null) throw new Error('the pressure board has not been started');
    return this.board.current;
  }

  /** Ranks again after changes of tokens' orders, rows or depth. */
  touch(addresses: Iterable<string>): void {
    for (const address of addresses) {
      if (this.rows.concerns(address)) this.touched.add(address);
    }
    if (this.board.current !== null && this.touched.size > 0) this.board.request();
  }

  /**
   * Ranks a first board of all orders and tokens, then follows their changes.
   * @throws Error if the pool fails
   */
  async start(): Promise<void> {
    this.touch(this.options.orders.tokens());
    await this.board.get();
    this.board.followClock();
    this.touch([]);
  }

  /** The cost is the pool's work, without time in its queue. */
  private async rank(): Promise<{ value: Pressure; costMs: number }> {
    const { pool, clock } = this.options;
    await this.rows.update(this.touched, new Turns());
    const { rows } = this.rows;
    const input = this.rows.input(clock.nowS());
    const { ranking, costMs } = await pool.run('rankPressure', input);
    return { value: { rows, ranking }, costMs };
  }
}

/** A token on the board with a copy of its state; rows are replaced, never changed. */
export interface PressureRow {
  readonly token: LiveToken;
  readonly orders: readonly DcaOrder[];
  readonly ordersColumn: SharedColumn;
  readonly ladder: BinSums | null;
  readonly ladderColumn: SharedColumn | null;
}

/** The tokens on the board; their orders and ladders are in memory that threads share. */
export class PressureRows {
  private readonly byAddress = new Map<string, PressureRow>();
  private readonly orderColumns = new SharedColumns();
  private readonly ladderColumns = new SharedColumns();
  /** Rows ascending by address; the array is replaced, never changed. */
  rows: readonly PressureRow[] = [];
  /** Sorted addresses of all rows, and perhaps of some removed ones. */
  private addresses: string[] = [];
  /** Whether a row was added since the addresses were sorted. */
  private joined = false;

  constructor(
    private readonly tokens: Pick<TokenTable, 'token'>,
    private readonly orders: Pick<DcaOrdersByToken, 'orders'>,
  ) {}

  /** Whether a change of the token matters to the board. */
  concerns(address: string): boolean {
    return this.byAddress.has(address) || this.orders.orders(address).length > 0;
  }

  /**
   * Updates the rows of changed tokens: tokens with a record and an active order have one.
   * @param touched is emptied
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
    this.rows = this.addresses.flatMap((address) => this.byAddress.get(address) ?? []);
  }

  /** The input of the pool's task, from the present rows. */
  input(nowS: number): PressureInput {
    const { rows } = this;
    const input: PressureInput = {
      nowS,
      orders: this.orderColumns.memory,
      ladders: this.ladderColumns.memory,
      ordersAt: new Uint32Array(rows.length),
      orderCount: new Uint32Array(rows.length),
      priceUsd: new Float64Array(rows.length),
      ladderAt: new Uint32Array(rows.length),
      binCount: new Uint32Array(rows.length),
      firstBin: new Int16Array(rows.length),
    };
    for (const [i, row] of rows.entries()) {
      const { token, orders, ordersColumn, ladder, ladderColumn } = row;
      input.ordersAt[i] = ordersColumn.at;
      input.orderCount[i] = orders.length;
      input.priceUsd[i] = currentPriceUsd(token) ?? NaN;
      input.ladderAt[i] = ladderColumn?.at ?? 0;
      input.binCount[i] = ladder?.supportCents.length ?? 0;
      input.firstBin[i] = ladder?.firstBin ?? 0;
    }
    return input;
  }

  /** @returns whether the row changed */
  private async updateOne(address: string, turns: Turns): Promise<boolean> {
    const before = this.byAddress.get(address);
    const now = this.tokens.token(address);
    const orders = this.orders.orders(address);
    if (now === null || orders.length === 0) {
      if (before === undefined) return false;
      this.byAddress.delete(address);
      this.dropColumns(before);
      return true;
    }
    // The table changes its objects in place.
    const token = { ...now };
    const ladder = token.newest?.spot ?? null;
    if (before?.token.revision === token.revision && before.orders === orders) return false;
    const sameOrders = before?.orders === orders;
    const sameLadder = before?.ladder === ladder;
    if (before && !sameOrders) this.orderColumns.drop(before.ordersColumn);
    if (before?.ladderColumn && !sameLadder) this.ladderColumns.drop(before.ladderColumn);
    const row: PressureRow = {
      token,
      orders,
      ordersColumn: sameOrders
        ? before.ordersColumn
        : await this.orderColumns.put([packOrders(orders)], turns),
      ladder,
      ladderColumn: sameLadder ? before.ladderColumn : await this.putLadder(ladder, turns),
    };
    if (before === undefined) this.joined = true;
    this.byAddress.set(address, row);
    return true;
  }

  private async putLadder(ladder: BinSums | null, turns: Turns): Promise<SharedColumn | null> {
    if (ladder === null) return null;
    return this.ladderColumns.put([ladder.supportCents, ladder.resistanceCents], turns);
  }

  private dropColumns({ ordersColumn, ladderColumn }: PressureRow): void {
    this.orderColumns.drop(ordersColumn);
    if (ladderColumn !== null) this.ladderColumns.drop(ladderColumn);
  }
}
