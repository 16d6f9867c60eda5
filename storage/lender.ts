/** What several callers use one at a time: things that are lent, and a mutex. */
import { StoreUnavailableError } from './errors.js';

/** Callers that may wait; more are refused. */
export const MAX_WAITING = 10_000;

/** A fixed set of things, such as connections, each of which is lent to one caller at a time; callers wait in order. */
export class Lender<T> {
  private readonly free: T[];
  private readonly waiting: { grant: (thing: T) => void; refuse: (error: Error) => void }[] = [];
  private closing: (() => void) | null = null;
  private closed = false;

  constructor(private readonly all: readonly T[]) {
    this.free = [...all];
  }

  /** Runs `body` with one of them. @throws StoreUnavailableError after close(), or if too many wait */
  async use<R>(body: (thing: T) => Promise<R>): Promise<R> {
    const { thing, giveBack } = await this.lend();
    try {
      return await body(thing);
    } finally {
      giveBack();
    }
  }

  /**
   * Lends one until the caller returns it; only the first return counts.
   * @throws StoreUnavailableError like use()
   */
  async lend(): Promise<{ thing: T; giveBack: () => void }> {
    const thing = await this.take();
    let isLent = true;
    const giveBack = (): void => {
      if (isLent) this.give(thing);
      isLent = false;
    };
    return { thing, giveBack };
  }

  /** Whether all are lent. */
  get allLent(): boolean {
    return this.free.length === 0;
  }

  /** Refuses new and waiting callers, waits for the others, and returns all for disposal. */
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
    const thing = this.free.pop();
    if (thing !== undefined) return thing;
    if (this.waiting.length >= MAX_WAITING) {
      throw new StoreUnavailableError(`${MAX_WAITING} others are waiting for the store`);
    }
    return new Promise<T>((grant, refuse) => this.waiting.push({ grant, refuse }));
  }

  private give(thing: T): void {
    const next = this.waiting.shift();
    if (next !== undefined) {
      next.grant(thing);
      return;
    }
    this.free.push(thing);
    if (this.free.length === this.all.length) this.closing?.();
  }
}

/** Lets one caller in at a time. */
export class Mutex extends Lender<null> {
  constructor() {
    super([null]);
  }
}

function closedError(): StoreUnavailableError {
  return new StoreUnavailableError('the database is closed');
}
