/** The pressure board of 1,000 tokens with 200,000 orders: the kernel, and the board around it. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { DcaOrder } from '../../compute/orders/dca-orders.js';
import { type PressureRanking, rankPressure } from '../../compute/orders/pressure.js';
import { type ComputePool, startPool } from '../../compute/pool.js';
import { createLogger } from '../../server/logger.js';
import { DcaOrdersByToken } from '../../server/orders/orders-by-token.js';
import { PressureBoard, PressureRows } from '../../server/orders/pressure-board.js';
import type { LiveToken } from '../../server/tokens/token-table.js';
import { Turns } from '../../storage/turns.js';
import { benchCase, type BenchCase, type Extra, type LoadedGroup } from '../case.js';
import { benchOrders, benchState, FLOW_NOW_S, FLOW_ORDERS, FLOW_TOKENS } from '../data/orders.js';
import { digestOf } from '../digest.js';

/** Long enough to make a board outdated. */
const CLOCK_STEP_S = 60;
/** Resolution of the event loop's delay. */
const DELAY_EVERY_MS = 1;
/** Operations before the first measured one. */
const WARM_UPS = 3;

/** A ranking, and what it took besides time. */
interface Ranked {
  ranking: PressureRanking;
  extra: Extra;
}

/** The board with its orders and tokens, as in the service. */
class FlowSubject {
  readonly states: ReadonlyMap<string, LiveToken>;
  readonly clock = { atS: FLOW_NOW_S, nowS: () => this.clock.atS };
  readonly book: DcaOrdersByToken;
  readonly board: PressureBoard;
  private readonly orders: ReadonlyMap<string, DcaOrder[]>;

  constructor(readonly pool: ComputePool) {
    const tokens = Array.from({ length: FLOW_TOKENS }, (_, token) => benchState(token));
    this.states = new Map(tokens.map((state) => [state.details.address, state]));
    this.orders = new Map(tokens.map((state, i) => [state.details.address, benchOrders(i)]));
    const logger = createLogger();
    this.book = new DcaOrdersByToken(this, logger);
    this.board = new PressureBoard({
      tokens: { token: (address) => this.states.get(address) ?? null },
      orders: this.book,
      pool,
      clock: this.clock,
      logger,
    });
    this.book.onChange = (addresses) => this.board.touch(addresses);
  }

  of(addresses: readonly string[]): Promise<DcaOrder[]> {
    return Promise.resolve(addresses.flatMap((address) => this.orders.get(address) ?? []));
  }

  async *all(): AsyncIterable<DcaOrder[]> {
    for (const orders of this.orders.values()) yield await Promise.resolve(orders);
  }

  async start(): Promise<void> {
    await this.book.start();
    await this.board.start();
  }

  /** Runs work, and measures its effect on the event loop and the pool. */
  async during(work: () => Promise<void>): Promise<Ranked> {
    const delays = monitorEventLoopDelay({ resolution: DELAY_EVERY_MS });
    const posted = this.pool.postedTasks;
    delays.enable();
    await work();
    delays.disable();
    const { ranking } = this.board.current;
    return {
      ranking,
      extra: {
        ordersRanked: ranking.ordersRanked,
        tasksPosted: this.pool.postedTasks - posted,
        loopDelayP99Ms: delays.percentile(99) / 1e6,
        loopDelayMaxMs: delays.max / 1e6,
      },
    };
  }

  /** Moves only the clock, there and back: every operation ends with the same board. */
  async tick(): Promise<void> {
    for (const atS of [FLOW_NOW_S + CLOCK_STEP_S, FLOW_NOW_S]) {
      this.clock.atS = atS;
      this.board.board.tick();
      await this.board.board.settled();
    }
  }

  /** Makes the board read every order again. */
  async changeAll(): Promise<void> {
    this.book.touch([...this.states.keys()]);
    await this.book.settled();
    await this.board.board.settled();
  }

  async close(): Promise<void> {
    await this.book.close();
    await this.board.board.close();
  }
}

/** Loads the group with a pool and a board that has been ranked a few times. */
export async function loadFlow(): Promise<LoadedGroup> {
  const faults: Error[] = [];
  const pool = await startPool({ onError: (error) => faults.push(error) });
  const subject = new FlowSubject(pool);
  await subject.start();
  for (let i = 0; i < WARM_UPS; i++) await subject.changeAll();
  const cases = [
    await kernelCase(subject),
    boardCase('flow/board by the clock, twice', subject, 2, () => subject.tick()),
    boardCase('flow/board after every order changed', subject, 1, () => subject.changeAll()),
  ];
  return {
    cases,
    async close() {
      await subject.close();
      await pool.close();
      if (faults.length > 0) throw faults[0];
    },
  };
}

async function kernelCase({ states, book }: FlowSubject): Promise<BenchCase> {
  const rows = new PressureRows({ token: (address) => states.get(address) ?? null }, book);
  await rows.update(new Set(states.keys()), new Turns());
  const input = rows.input(FLOW_NOW_S);
  return benchCase({
    name: 'flow/rankPressure',
    run: () => rankPressure(input),
    digest: digestOfRanking,
    work: { orders: FLOW_ORDERS },
    counters: (ranking) => ({ bytesIn: columnBytes(input), ...countersOf(ranking) }),
  });
}

function boardCase(
  name: string,
  subject: FlowSubject,
  rankings: number,
  work: () => Promise<void>,
): BenchCase {
  return benchCase({
    name,
    run: () => subject.during(work),
    digest: ({ ranking }: Ranked) => digestOfRanking(ranking),
    work: { orders: rankings * FLOW_ORDERS },
    extra: ({ extra }) => extra,
    // Tasks are not counted: how many rankings a clock change takes depends on the machine.
    counters: ({ ranking }) => countersOf(ranking),
  });
}

function digestOfRanking({ netUsd, netPct, ranks, topOrders }: PressureRanking): string {
  return digestOf([netUsd, netPct, ranks, topOrders]);
}

const countersOf = (ranking: PressureRanking) => ({
  ordersRanked: ranking.ordersRanked,
  ranks: ranking.ranks.length,
  bytesOut: columnBytes(ranking),
});

/** Bytes of an object's columns and shared blocks. */
function columnBytes(columns: object): number {
  return Object.values(columns).reduce<number>(
    (sum, value) =>
      ArrayBuffer.isView(value) || value instanceof SharedArrayBuffer
        ? sum + value.byteLength
        : sum,
    0,
  );
}
