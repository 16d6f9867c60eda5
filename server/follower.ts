/**
 * Work in the background that follows changes. A `Follower` works on the keys that changed; a
 * `LiveValue` is one value that is kept ready while the data that it is made of change.
 */
import type { Log } from './log.js';

/** A paced key rests this many times what its work cost: it gets one part in eleven of the time. */
const PAUSE_FACTOR = 10;
const MIN_PAUSE_MS = 100;
/** The longest rest of a paced key, unless told otherwise. */
const MAX_PAUSE_MS = 15_000;
/** Work costs as much as the cheapest of a key's last runs: the rest was waiting for others. */
const RECENT_RUNS = 4;
/** Runs of a paced key without a rest in between, after a quiet time. */
const BURST = 3;
/** A key whose work failed is worked on again after this, unless told otherwise. */
const RETRY_AFTER_MS = 5_000;

export interface FollowerOptions<K> {
  /**
   * Works on keys that have changed. A paced follower is charged with the time that this took, or
   * with the milliseconds that it resolves to; null charges nothing. A batch that fails is worked
   * on key by key, so that one key does not hold up the others.
   */
  work: (keys: readonly K[]) => Promise<number | null | void>;
  /** Message of the log's line where keys fail. */
  failure: string;
  /** Field of that line that holds the first of the keys. */
  keyField?: string;
  log: Log;
  /** The most keys that one call of `work` gets; default 1. */
  batchKeys?: number;
  /** Whether each key rests after its work, in proportion to what that cost; default false. */
  paced?: boolean;
  maxPauseMs?: number;
  /** null: a key that failed waits until it changes again. */
  retryAfterMs?: number | null;
}

/** Works on keys in the order of their changes, one batch at a time. */
export class Follower<K extends string | number> {
  private readonly dueKeys = new Set<K>();
  /** Changed keys that rest, and the timers that end it. */
  private readonly resting = new Map<K, NodeJS.Timeout>();
  private readonly paces = new Map<K, Pace>();
  private readonly failed = new Set<K>();
  /** Keys of the call of `work` that is under way. */
  private readonly working = new Set<K>();
  private retryTimer: NodeJS.Timeout | null = null;
  private running: Promise<void> | null = null;
  private started = false;
  private closed = false;

  constructor(private readonly options: FollowerOptions<K>) {}

  /** Begins to work, first on what has been touched until now. */
  start(): void {
    this.started = true;
    this.run();
  }

  /** Takes note of changed keys. Their work begins soon, but never within this call. */
  touch(keys: Iterable<K>): void {
    if (this.closed) return;
    for (const key of keys) {
      if (this.dueKeys.has(key) || this.resting.has(key)) continue;
      const restMs = this.paces.get(key)?.restMs() ?? 0;
      if (restMs <= 0) this.dueKeys.add(key);
      else this.resting.set(key, setTimeout(() => this.touchNow([key]), restMs).unref());
    }
    this.run();
  }

  /** The same for keys that must not rest first. */
  touchNow(keys: Iterable<K>): void {
    if (this.closed) return;
    for (const key of keys) {
      this.endRest(key);
      this.dueKeys.add(key);
    }
    this.run();
  }

  /** Drops what is known of a key, a pending change included. */
  forget(key: K): void {
    this.endRest(key);
    this.dueKeys.delete(key);
    this.working.delete(key);
    this.paces.delete(key);
    this.failed.delete(key);
  }

  /** Changed keys that wait for their work, in its order; without those that rest. */
  get due(): ReadonlySet<K> {
    return this.dueKeys;
  }

  /** Works at once on all that was touched, and resolves when each key is done or has failed. */
  async settled(): Promise<void> {
    for (;;) {
      this.touchNow([...this.resting.keys()]);
      if (this.running === null) return;
      await this.running;
    }
  }

  /** Takes no more changes, drops those that wait, and waits for what is under way. */
  async close(): Promise<void> {
    this.closed = true;
    if (this.retryTimer !== null) clearTimeout(this.retryTimer);
    for (const key of [...this.resting.keys()]) this.endRest(key);
    this.dueKeys.clear();
    await this.running;
  }

  /** @returns whether the key was resting */
  private endRest(key: K): boolean {
    clearTimeout(this.resting.get(key));
    return this.resting.delete(key);
  }

  private run(): void {
    if (!this.started || this.closed || this.running !== null || this.dueKeys.size === 0) return;
    this.running = this.workOnAll().finally(() => {
      this.running = null;
      // Keys that were touched after the last batch.
      this.run();
    });
  }

  private async workOnAll(): Promise<void> {
    // Changes come in quick succession: those of one moment are one batch.
    await Promise.resolve();
    const { batchKeys = 1 } = this.options;
    while (this.dueKeys.size > 0 && !this.closed) {
      const batch: K[] = [];
      for (const key of this.dueKeys) {
        if (batch.push(key) === batchKeys) break;
      }
      for (const key of batch) this.dueKeys.delete(key);
      await this.workOn(batch);
    }
  }

  /** Never rejects. */
  private async workOn(batch: readonly K[]): Promise<void> {
    let failure = await this.attempt(batch);
    let failed = failure === null ? [] : [...batch];
    if (failed.length > 1) {
      failed = [];
      for (const key of batch) {
        if (this.closed) return;
        const own = await this.attempt([key]);
        if (own === null) continue;
        failure = own;
        failed.push(key);
      }
    }
    if (failure === null || failed.length === 0 || this.closed) return;
    const { failure: message, keyField, log, retryAfterMs = RETRY_AFTER_MS } = this.options;
    const fields: Record<string, string | number> = {};
    if (keyField !== undefined) fields[keyField] = failed[0];
    if (failed.length > 1) fields.failed = failed.length;
    log.error(message, fields, failure.error);
    if (retryAfterMs === null) return;
    for (const key of failed) this.failed.add(key);
    this.retryTimer ??= setTimeout(() => {
      this.retryTimer = null;
      const again = [...this.failed];
      this.failed.clear();
      this.touch(again);
    }, retryAfterMs).unref();
  }

  private async attempt(keys: readonly K[]): Promise<{ error: unknown } | null> {
    for (const key of keys) {
      this.failed.delete(key);
      this.working.add(key);
    }
    const startMs = performance.now();
    try {
      const costMs = await this.options.work(keys);
      if (costMs !== null) this.charge(keys.length, costMs ?? performance.now() - startMs);
      return null;
    } catch (error) {
      this.charge(keys.length, performance.now() - startMs);
      return { error };
    } finally {
      this.working.clear();
    }
  }

  private charge(keyCount: number, costMs: number): void {
    const { paced = false, maxPauseMs = MAX_PAUSE_MS } = this.options;
    if (!paced || this.closed) return;
    for (const key of this.working) {
      const pace = this.paces.get(key) ?? new Pace(maxPauseMs);
      this.paces.set(key, pace);
      pace.charge(costMs / keyCount);
      // A change that came meanwhile has to wait for the rest that follows this work.
      const wasDue = this.dueKeys.delete(key);
      const wasResting = this.endRest(key);
      if (wasDue || wasResting) this.touch([key]);
    }
  }
}

/** When the next run of a key may start: at once after a quiet time, a bounded share otherwise. */
class Pace {
  /** When the last runs ended, the latest first: at most BURST. */
  private readonly endsMs: number[] = [];
  /** Costs of the last runs, the latest first: at most RECENT_RUNS. */
  private readonly costsMs: number[] = [];
  private pauseMs = MIN_PAUSE_MS;

  constructor(private readonly maxPauseMs: number) {}

  restMs(): number {
    const { endsMs, pauseMs } = this;
    if (endsMs.length < BURST) return 0;
    const nextMs = Math.min(endsMs[0] + pauseMs, endsMs[BURST - 1] + BURST * pauseMs);
    return nextMs - performance.now();
  }

  charge(costMs: number): void {
    this.costsMs.unshift(costMs);
    this.costsMs.length = Math.min(this.costsMs.length, RECENT_RUNS);
    const pauseMs = PAUSE_FACTOR * Math.min(...this.costsMs);
    this.pauseMs = Math.min(Math.max(pauseMs, MIN_PAUSE_MS), this.maxPauseMs);
    this.endsMs.unshift(performance.now());
    this.endsMs.length = Math.min(this.endsMs.length, BURST);
  }
}

export interface LiveValueOptions<T> {
  /** Builds the value from what is known now; `costMs`, where given, is charged in place of its time. */
  build: () => Promise<{ value: T; costMs?: number }>;
  /** Message of the log's line where a build fails. */
  failure: string;
  log: Log;
  /** The longest that a request waits for its build to begin. */
  maxPauseMs?: number;
  retryAfterMs?: number;
}

/** A value that is built anew in the background, paced, whenever that is requested. */
export class LiveValue<T extends object> {
  private value: T | null = null;
  private waiting: { resolve: (value: T) => void; reject: (error: unknown) => void }[] = [];
  private readonly follower: Follower<'value'>;
  private closed = false;

  constructor(private readonly options: LiveValueOptions<T>) {
    const { failure, log, maxPauseMs, retryAfterMs } = options;
    const work = () => this.build();
    this.follower = new Follower({ work, failure, log, paced: true, maxPauseMs, retryAfterMs });
    this.follower.start();
  }

  /** The value as it stands; null before the first one is built. */
  get current(): T | null {
    return this.value;
  }

  /** The same; before the first one is built, a promise of it, which rejects where that build fails. */
  get(): T | Promise<T> {
    if (this.value !== null) return this.value;
    if (this.closed) return Promise.reject(new Error('closed before it was built'));
    // Also where an attempt has failed: nobody waits for the retry.
    this.request();
    return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
  }

  /** Calls `use` with the value as it stands, at once; before the first one is built, with that one. */
  use<R>(use: (value: T) => R): R | Promise<R> {
    const value = this.get();
    return value instanceof Promise ? value.then(use) : use(value);
  }

  /** Has it built anew from all that is known after this call: soon, and in the background. */
  request(): void {
    this.follower.touch(['value']);
  }

  /** Resolves when every build that was requested is done, or has failed once. */
  settled(): Promise<void> {
    return this.follower.settled();
  }

  /** Builds no more, and waits for what is under way. */
  async close(): Promise<void> {
    this.closed = true;
    await this.follower.close();
    this.refuse(new Error('closed before it was built'));
  }

  private async build(): Promise<number | void> {
    try {
      const { value, costMs } = await this.options.build();
      this.value = value;
      for (const { resolve } of this.waiting.splice(0)) resolve(value);
      return costMs;
    } catch (error) {
      this.refuse(error);
      throw error;
    }
  }

  private refuse(error: unknown): void {
    for (const { reject } of this.waiting.splice(0)) reject(error);
  }
}
