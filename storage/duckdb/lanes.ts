import { StoreUnavailableError } from '../errors.js';

/** Callers that may wait for a lane; more are refused. */
export const MAX_WAITING = 10_000;

/**
 * A fixed set of resources that serve one caller at a time each; callers wait in order. It serializes the statements on
 * one DuckDB connection, which must not run concurrently.
 */
export class Lanes<T> {
  private readonly free: T[];
  private readonly all: readonly T[];
  private readonly waiting: { grant: (lane: T) => void; refuse: (error: Error) => void }[] = [];
  private closing: (() => void) | null = null;
  private closed = false;

  constructor(lanes: readonly T[]) {
    this.all = lanes;
    this.free = [...lanes];
  }

  /** Runs `body` with exclusive use of a lane. @throws StoreUnavailableError after close(), or if too many wait */
  async use<R>(body: (lane: T) => Promise<R>): Promise<R> {
    const { lane, giveBack } = await this.lend();
    try {
      return await body(lane);
    } finally {
      giveBack();
    }
  }

  /**
   * Lends a lane until the caller returns it; only the first return counts.
   * @throws StoreUnavailableError like use()
   */
  async lend(): Promise<{ lane: T; giveBack: () => void }> {
    const lane = await this.take();
    let isLent = true;
    const giveBack = (): void => {
      if (isLent) this.give(lane);
      isLent = false;
    };
    return { lane, giveBack };
  }

  /** Whether every lane is in use. */
  get allInUse(): boolean {
    return this.free.length === 0;
  }

  /** Refuses new and waiting callers, waits for running ones, and returns every lane for disposal. */
  async close(): Promise<readonly T[]> {
    this.closed = true;
    for (const { refuse } of this.waiting.splice(0)) refuse(closedError());
    if (this.free.length < this.all.length) {
      await new Promise<void>((resolve) => (this.closing = resolve));
    }
    return this.all;
  }

  private async take(): Promise<T> {
    if (this.closed) throw closedError();
    const lane = this.free.pop();
    if (lane !== undefined) return lane;
    if (this.waiting.length >= MAX_WAITING) {
      throw new StoreUnavailableError(`${MAX_WAITING} statements are waiting`);
    }
    return new Promise<T>((grant, refuse) => this.waiting.push({ grant, refuse }));
  }

  private give(lane: T): void {
    const next = this.waiting.shift();
    if (next !== undefined) {
      next.grant(lane);
      return;
    }
    this.free.push(lane);
    if (this.free.length === this.all.length) this.closing?.();
  }
}

function closedError(): StoreUnavailableError {
  return new StoreUnavailableError('the database is closed');
}
