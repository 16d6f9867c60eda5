/**
 * The board of GET /dca-pressure, kept ready. It is ranked in the pool: when orders, prices or
 * ladders of its tokens change, and by the clock.
 */
import { runInTurn } from '../../compute/in-turn.js';
import type { ComputePool } from '../../compute/pool.js';
import type { PressureRanking } from '../../compute/orders/pressure.js';
import type { Clock } from '../clock.js';
import type { Log } from '../log.js';
import { DutyCycle } from '../duty-cycle.js';
import type { MarketState } from '../tokens/market-state.js';
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

export interface PressureOptions {
  state: Pick<MarketState, 'token'>;
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
  private board: Pressure | null = null;
  private readonly rows: PressureRows;
  private readonly touched = new Set<string>();
  private readonly cycle: DutyCycle;
  private ticking: NodeJS.Timeout | null = null;
  /** Whether the last ranking has failed. */
  private failed = false;

  constructor(private readonly options: PressureOptions) {
    this.rows = new PressureRows(options.state, options.orderBook);
    this.cycle = new DutyCycle({ work: () => this.tryRank(), maxPauseMs: MAX_PAUSE_MS });
  }

  /** The board as it stands. */
  get current(): Pressure {
    if (this.board === null) throw new Error('the pressure board has not been started');
    return this.board;
  }

  /** Takes note of tokens whose orders, row or depth has changed. */
  touch(addresses: Iterable<string>): void {
    for (const address of addresses) {
      if (this.rows.concerns(address)) this.touched.add(address);
    }
    if (this.board !== null && this.touched.size > 0) this.cycle.request();
  }

  /**
   * Ranks a first board of all orders and tokens that there are, then follows them.
   * @throws Error where the pool does not rank it
   */
  async start(): Promise<void> {
    this.touch(this.options.orderBook.tokens());
    await this.rank();
    this.ticking = setInterval(() => this.tick(), TICK_MS);
    this.ticking.unref();
    this.touch([]);
  }

  /** Looks at the clock: the board is ranked anew once it is some seconds old, or has failed to be. */
  tick(): void {
    if (this.board === null) return;
    // The system's clock may be set back, too.
    const ageS = Math.abs(this.options.clock.nowS() - this.board.ranking.nowS);
    if (this.failed || ageS >= REFRESH_AFTER_S) this.cycle.request();
  }

  /** Resolves when everything that was touched so far is on the board, or has failed once. */
  settled(): Promise<void> {
    return this.cycle.settled();
  }

  /** Stops following, and waits for what is under way. */
  async close(): Promise<void> {
    if (this.ticking !== null) clearInterval(this.ticking);
    await this.cycle.close();
  }

  /** Never rejects: the last board stands where there is no new one. @returns the cost, ms */
  private async tryRank(): Promise<number | void> {
    try {
      const costMs = await this.rank();
      this.failed = false;
      return costMs;
    } catch (error) {
      this.failed = true;
      this.options.log.error('DCA pressure could not be ranked', {}, error);
    }
  }

  /** @returns what it cost the pool, ms: time in its queue is no cost */
  private async rank(): Promise<number> {
    const { pool, clock } = this.options;
    await this.rows.update(this.touched, new Turns());
    const { rows } = this.rows;
    const input = this.rows.input(clock.nowS());
    const { ranking, costMs } = await runInTurn(pool, 'rankPressure', input);
    this.board = { rows, ranking };
    return costMs;
  }
}
