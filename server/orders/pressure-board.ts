/**
 * The board of GET /dca-pressure, kept ready. It is ranked in the pool: when orders, prices or
 * ladders of its tokens change, and by the clock.
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
import { LiveValue } from '../follower.js';
import type { Log } from '../log.js';
import { currentPriceUsd, type LiveToken, type TokenTable } from '../tokens/token-table.js';
import { Turns } from '../turns.js';
import type { DcaOrdersByToken } from './orders-by-token.js';
import { type SharedColumn, SharedColumns } from './shared-columns.js';

/** The age that a board may have when a request gets it, with a clock that runs (as the API says). */
export const MAX_BOARD_AGE_S = 15;
/** A board of this age is ranked anew even where nothing else has changed. */
const REFRESH_AFTER_S = 5;
/** How often the clock is looked at. */
const TICK_MS = 500;
/** The longest that a ranking is put off: the rest of MAX_BOARD_AGE_S is for its work. */
const MAX_PAUSE_MS = 6_000;
/** A ranking that has failed is tried again after this. */
const RETRY_AFTER_MS = 1_000;

export interface PressureOptions {
  tokens: Pick<TokenTable, 'token'>;
  /** Changes of these, and of tokens, must be passed to `touch`. */
  orders: Pick<DcaOrdersByToken, 'orders' | 'tokens'>;
  pool: Pick<ComputePool, 'run'>;
  clock: Clock;
  log: Log;
}

/** A ranking and its tokens: row `i` is token `i` of the ranking. It never changes. */
export interface Pressure {
  rows: readonly PressureRow[];
  ranking: PressureRanking;
}

export class PressureBoard {
  private readonly board: LiveValue<Pressure>;
  private readonly rows: PressureRows;
  private readonly touched = new Set<string>();
  private ticking: NodeJS.Timeout | null = null;

  constructor(private readonly options: PressureOptions) {
    this.rows = new PressureRows(options.tokens, options.orders);
    this.board = new LiveValue({
      build: () => this.rank(),
      failure: 'DCA pressure could not be ranked',
      log: options.log,
      maxPauseMs: MAX_PAUSE_MS,
      retryAfterMs: RETRY_AFTER_MS,
    });
  }

  /** The board as it stands. */
  get current(): Pressure {
    if (this.board.current === null) throw new Error('the pressure board has not been started');
    return this.board.current;
  }

  /** Takes note of tokens whose orders, row or depth has changed. */
  touch(addresses: Iterable<string>): void {
    for (const address of addresses) {
      if (this.rows.concerns(address)) this.touched.add(address);
    }
    if (this.board.current !== null && this.touched.size > 0) this.board.request();
  }

  /**
   * Ranks a first board of all orders and tokens that there are, then follows them.
   * @throws Error where the pool does not rank it
   */
  async start(): Promise<void> {
    this.touch(this.options.orders.tokens());
    await this.board.get();
    this.ticking = setInterval(() => this.tick(), TICK_MS);
    this.ticking.unref();
    this.touch([]);
  }

  /** Looks at the clock: the board is ranked anew once it is some seconds old. */
  tick(): void {
    const { current } = this.board;
    if (current === null) return;
    // The system's clock may be set back, too.
    const ageS = Math.abs(this.options.clock.nowS() - current.ranking.nowS);
    if (ageS >= REFRESH_AFTER_S) this.board.request();
  }

  /** Resolves when everything that was touched so far is on the board, or has failed once. */
  settled(): Promise<void> {
    return this.board.settled();
  }

  /** Stops following, and waits for what is under way. */
  async close(): Promise<void> {
    if (this.ticking !== null) clearInterval(this.ticking);
    await this.board.close();
  }

  /** Its cost is the pool's work: time in the pool's queue is none. */
  private async rank(): Promise<{ value: Pressure; costMs: number }> {
    const { pool, clock } = this.options;
    await this.rows.update(this.touched, new Turns());
    const { rows } = this.rows;
    const input = this.rows.input(clock.nowS());
    const { ranking, costMs } = await pool.run('rankPressure', input);
    return { value: { rows, ranking }, costMs };
  }
}

/** A token on the board, as it was when the row was made; rows are replaced, never changed. */
export interface PressureRow {
  readonly token: LiveToken;
  readonly orders: readonly DcaOrder[];
  readonly ordersColumn: SharedColumn;
  readonly ladder: BinSums | null;
  readonly ladderColumn: SharedColumn | null;
}

/** The tokens on the board, with their orders and ladders in memory that threads share. */
export class PressureRows {
  private readonly byAddress = new Map<string, PressureRow>();
  private readonly orderColumns = new SharedColumns();
  private readonly ladderColumns = new SharedColumns();
  private sorted: readonly PressureRow[] = [];
  /** Addresses of all rows, ascending, and perhaps of some that are gone. */
  private addresses: string[] = [];
  /** Whether a row has joined since they were sorted. */
  private joined = false;

  constructor(
    private readonly tokens: Pick<TokenTable, 'token'>,
    private readonly orders: Pick<DcaOrdersByToken, 'orders'>,
  ) {}

  /** Rows by address ascending; the array is replaced, never changed. */
  get rows(): readonly PressureRow[] {
    return this.sorted;
  }

  /** Whether a change of the token concerns the board. */
  concerns(address: string): boolean {
    return this.byAddress.has(address) || this.orders.orders(address).length > 0;
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

  /** @returns whether there is a change of the rows */
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
    // The table changes its own object.
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
