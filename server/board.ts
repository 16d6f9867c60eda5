/** A board: a value computed from much data, kept in memory, and rebuilt in the background when its data change. */
import { isDamage } from '../compute/damage.js';
import { Updater } from './updater.js';
import type { Logger } from './logger.js';

const TICK_MS = 500;

/** Calls `use` at once if the value is not a promise, else when it resolves. */
export function whenReady<T, R>(
  value: T | Promise<T>,
  use: (value: T) => R | Promise<R>,
): R | Promise<R> {
  return value instanceof Promise ? value.then(use) : use(value);
}

interface BoardOptions<T> {
  /** Builds the value from current data. Its cost is `costMs`, or else the time that the build took. */
  build: () => Promise<{ value: T; costMs?: number }>;
  /** The log message when a build fails. */
  failure: string;
  logger: Logger;
  /** Longest wait between a request and the start of its build. */
  maxPauseMs?: number;
  retryAfterMs?: number;
  /** Whether the value is out of date because time has passed; called twice a second after `followClock`. */
  isOutOfDate?: (current: T | null) => boolean;
}

/** A value that is rebuilt in the background on request, at a bounded pace. */
export class Board<T extends object> {
  /** The newest value; null before the first build. */
  current: T | null = null;
  /** The first build failed, and will fail until damaged data are replaced. */
  private lacksData = false;
  private waiting: { resolve: (value: T) => void; reject: (error: unknown) => void }[] = [];
  private readonly updater: Updater<'value'>;
  private closed = false;
  private ticking: NodeJS.Timeout | undefined;
  private readonly buildListeners: (() => void)[] = [];

  constructor(private readonly options: BoardOptions<T>) {
    const { failure, logger, maxPauseMs, retryAfterMs } = options;
    const work = () => this.build();
    this.updater = new Updater({ work, failure, logger, paced: true, maxPauseMs, retryAfterMs });
    this.updater.start();
  }

  /** Whether there is a value, or damaged data prevent one. */
  get isSettled(): boolean {
    return this.current !== null || this.lacksData;
  }

  /** The newest value; before the first build a promise of it, which rejects if that build fails. */
  get(): T | Promise<T> {
    if (this.current !== null) return this.current;
    if (this.closed) return Promise.reject(new Error('closed before it was built'));
    // Starts a build even after a failure: callers do not wait for the retry.
    this.request();
    return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
  }

  /** Calls `use` with the newest value: at once, or after the first build. */
  use<R>(use: (value: T) => R): R | Promise<R> {
    return whenReady(this.get(), use);
  }

  onBuild(listener: () => void): void {
    this.buildListeners.push(listener);
  }

  /** Requests a build in the background, from the data known after this call. */
  request(): void {
    this.updater.touch(['value']);
  }

  /** From now on, rebuilds the value when the passing of time makes it out of date. */
  followClock(): void {
    this.ticking ??= setInterval(() => this.tick(), TICK_MS).unref();
  }

  /** Requests a build if the passing of time has made the value out of date. */
  tick(): void {
    if (this.options.isOutOfDate?.(this.current) === true) this.request();
  }

  /** Resolves when every requested build is done or has failed once. */
  settled(): Promise<void> {
    return this.updater.settled();
  }

  /** Stops building, and waits for the current build. */
  async close(): Promise<void> {
    this.closed = true;
    clearInterval(this.ticking);
    await this.updater.close();
    this.refuse(new Error('closed before it was built'));
  }

  private async build(): Promise<number | void> {
    try {
      const { value, costMs } = await this.options.build();
      this.current = value;
      for (const { resolve } of this.waiting.splice(0)) resolve(value);
      for (const listener of this.buildListeners) listener();
      return costMs;
    } catch (error) {
      this.lacksData = isDamage(error);
      this.refuse(error);
      throw error;
    }
  }

  private refuse(error: unknown): void {
    for (const { reject } of this.waiting.splice(0)) reject(error);
  }
}
