/**
 * The board of GET /dca-pressure, kept ready. It is ranked in the pool: when orders, prices or
 * ladders of its tokens change, and by the clock.
 */
import type { ComputePool } from '../../compute/pool.js';
import type { PressureRanking } from '../../compute/orders/pressure.js';
import type { Clock } from '../clock.js';
import type { Log } from '../log.js';
import { LiveValue } from '../follower.js';
import type { TokenTable } from '../tokens/token-table.js';
import { Turns } from '../turns.js';
import type { OrderBook } from './order-book.js';
import { PressureRows, type PressureRow } from './pressure-rows.js';

/** How old a board may be when a request gets it, with a clock that runs: the API's text says so. */
export const MAX_BOARD_AGE_S = 15;
/** A board of this age is ranked anew even where nothing else has changed. */
const REFRESH_AFTER_S = 5;
/** How often the clock is looked at. */
const TICK_MS = 500;
/** The longest that a ranking is put off: what is left of MAX_BOARD_AGE_S is for it to be done. */
const MAX_PAUSE_MS = 6_000;
/** A ranking that has failed is tried again after this. */
const RETRY_AFTER_MS = 1_000;

export interface PressureOptions {
  state: Pick<TokenTable, 'token'>;
  /** Whoever makes the board has its changes, and the market's, told to `touch`. */
  orderBook: Pick<OrderBook, 'orders' | 'tokens'>;
  pool: Pick<ComputePool, 'run'>;
  clock: Clock;
  log: Log;
}

/** A ranking, and what it is of: row `i` is token `i` of the ranking. Nothing of it changes. */
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
    this.rows = new PressureRows(options.state, options.orderBook);
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
    this.touch(this.options.orderBook.tokens());
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
