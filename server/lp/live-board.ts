/** Something that is kept ready: built anew in the background when what it is made of changes. */
import type { Log } from '../log.js';
import { DutyCycle } from '../duty-cycle.js';

/** What could not be built is tried again after this. */
const RETRY_AFTER_MS = 10_000;

export interface LiveBoardOptions<T> {
  /** As the log calls it. */
  name: string;
  /** Builds it from all that is known now; `costMs` are the milliseconds that this cost. */
  build: () => Promise<{ board: T; costMs: number }>;
  log: Log;
}

interface Waiting<T> {
  resolve: (board: T) => void;
  reject: (error: unknown) => void;
}

export class LiveBoard<T extends object> {
  private board: T | null = null;
  private waiting: Waiting<T>[] = [];
  private readonly cycle: DutyCycle;
  private retry: NodeJS.Timeout | null = null;
  private closed = false;

  constructor(private readonly options: LiveBoardOptions<T>) {
    this.cycle = new DutyCycle({ work: () => this.build() });
  }

  /** The board as it stands; before the first one is built, a promise of that, or why it failed. */
  get(): T | Promise<T> {
    if (this.board !== null) return this.board;
    // Also where the first attempt has failed: nobody waits for the retry.
    this.request();
    return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
  }

  /** Has it built anew: soon, and in the background. */
  request(): void {
    this.cycle.request();
  }

  /** Resolves when everything that was asked for is built, or has failed once. */
  settled(): Promise<void> {
    return this.cycle.settled();
  }

  /** Builds no more, and waits for what is under way. */
  async close(): Promise<void> {
    this.closed = true;
    if (this.retry !== null) clearTimeout(this.retry);
    await this.cycle.close();
    this.refuse(new Error(`${this.options.name}: closed before it was built`));
  }

  private async build(): Promise<number> {
    const startMs = performance.now();
    try {
      const { board, costMs } = await this.options.build();
      this.board = board;
      for (const { resolve } of this.waiting.splice(0)) resolve(board);
      return costMs;
    } catch (error) {
      if (!this.closed) this.fail(error);
      return performance.now() - startMs;
    }
  }

  private fail(error: unknown): void {
    this.options.log.error(`${this.options.name} could not be built`, {}, error);
    this.refuse(error);
    if (this.retry !== null) clearTimeout(this.retry);
    this.retry = setTimeout(() => this.request(), RETRY_AFTER_MS);
    this.retry.unref();
  }

  private refuse(error: unknown): void {
    for (const { reject } of this.waiting.splice(0)) reject(error);
  }
}
