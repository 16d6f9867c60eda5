/** Background work that brings up to date what depends on changed keys. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDamage } from '../compute/damage.js';
import { pushTo } from '../compute/collections.js';
import { Turns } from '../storage/turns.js';
import { DueKeys } from './due-keys.js';
import type { Logger } from './logger.js';

/** A paced key rests ten times as long as its work took: it gets one eleventh of the time. */
const PAUSE_FACTOR = 10;
const MIN_PAUSE_MS = 100;
/** Default for the longest rest of a paced key. */
const MAX_PAUSE_MS = 15_000;
/** How many of a key's last runs are remembered. The cheapest counts as its cost: the others include waiting. */
const RECENT_RUNS = 4;
/** After a quiet time, a paced key may run this often without a rest. */
const BURST = 3;
/** Default for the time before a failed key is retried. */
const RETRY_AFTER_MS = 5_000;

/** Batches between two checks of the clock, for work that never awaits. */
const BATCHES_PER_CHECK = 4;

export interface UpdaterOptions<K> {
  /**
   * Works on changed keys. It may resolve to its cost in milliseconds, which sets the rest of a
   * paced key; undefined: the time it took; null: no cost. The updater retries a failed batch key
   * by key, so that one bad key does not hold up the others.
   */
  work: (keys: readonly K[]) => Promise<number | null | void>;
  /** The line that is logged when keys fail. */
  failure: string;
  /** The field of that line with the first failed key. */
  keyField?: string;
  logger: Logger;
  /** Greatest number of keys in one call of `work`; default 1. */
  batchKeys?: number;
  /** Whether each key rests after its work, in proportion to its cost; default false. */
  paced?: boolean;
  maxPauseMs?: number;
  /** null: no retry before the key changes again. */
  retryAfterMs?: number | null;
}

/** Works on keys in the order of their changes, one batch at a time. */
export class Updater<K extends string | number> {
  private readonly dueKeys = new DueKeys<K>();
  /** Changed keys that rest, and the timers that end their rest. */
  private readonly resting = new Map<K, NodeJS.Timeout>();
  private readonly paces = new Map<K, Pace>();
  private readonly failed = new Set<K>();
  /** Keys of the current call of `work`. */
  private readonly working = new Set<K>();
  /** Callbacks of callers that wait for a key. */
  private readonly waiting = new Map<K, (() => void)[]>();
  private retryTimer: NodeJS.Timeout | null = null;
  private running: Promise<void> | null = null;
  private started = false;
  private closed = false;

  constructor(private readonly options: UpdaterOptions<K>) {}

  /** Starts with the keys touched so far. */
  start(): void {
    this.started = true;
    this.run();
  }

  /** Marks keys as changed. Their work begins soon, but never within this call. */
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

  /** Marks keys as changed and ends their rest. */
  touchNow(keys: Iterable<K>): void {
    if (this.closed) return;
    for (const key of keys) {
      this.endRest(key);
      this.dueKeys.add(key);
    }
    this.run();
  }

  /** Works on a key before all others; resolves when that is done, or has failed. */
  async first(key: K): Promise<void> {
    if (this.closed) return;
    const done = new Promise<void>((resolve) => pushTo(this.waiting, key, resolve));
    if (!this.working.has(key)) {
      this.endRest(key);
      this.dueKeys.addFirst(key);
      this.run();
    }
    await done;
  }

  /** Forgets a key, including a change not yet worked on. */
  forget(key: K): void {
    this.endRest(key);
    this.dueKeys.delete(key);
    this.working.delete(key);
    this.paces.delete(key);
    this.failed.delete(key);
    this.release([key]);
  }

  /** Changed keys in the order of their work, without those that rest. */
  get due(): Pick<ReadonlySet<K>, 'size' | 'has' | typeof Symbol.iterator> {
    return this.dueKeys;
  }

  /** Ends all rests; resolves when every touched key is done or has failed. */
  async settled(): Promise<void> {
    for (;;) {
      this.touchNow([...this.resting.keys()]);
      if (this.running === null) return;
      await this.running;
    }
  }

  /** Drops changes not yet worked on, and waits for the current work. */
  async close(): Promise<void> {
    this.closed = true;
    if (this.retryTimer !== null) clearTimeout(this.retryTimer);
    for (const key of [...this.resting.keys()]) this.endRest(key);
    this.dueKeys.clear();
    await this.running;
    this.release([...this.waiting.keys()]);
  }

  private release(keys: readonly K[]): void {
    for (const key of keys) {
      for (const resolve of this.waiting.get(key) ?? []) resolve();
      this.waiting.delete(key);
    }
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
      // Keys may have been touched after the last batch.
      this.run();
    });
  }

  private async workOnAll(): Promise<void> {
    // Changes of the same moment form one batch, after live messages of the same commit.
    await nextTurn();
    const { batchKeys = 1 } = this.options;
    const turns = new Turns();
    let batches = 0;
    while (this.dueKeys.size > 0 && !this.closed) {
      const batch = this.dueKeys.take(batchKeys);
      await this.workOn(batch);
      this.release(batch);
      // Work that never awaits would not release the event loop.
      if (++batches % BATCHES_PER_CHECK === 0) await turns.take();
    }
  }

  /** Never rejects. */
  private async workOn(batch: readonly K[]): Promise<void> {
    let failure = await this.attempt(batch);
    let failed = failure === null ? [] : [...batch];
    // Damaged data stay so until they are replaced, which is a change.
    let again = isDamage(failure?.error) ? [] : failed;
    if (failed.length > 1) {
      failed = [];
      again = [];
      for (const key of batch) {
        if (this.closed) return;
        const own = await this.attempt([key]);
        if (own === null) continue;
        failure = own;
        failed.push(key);
        if (!isDamage(own.error)) again.push(key);
      }
    }
    if (failure === null || failed.length === 0 || this.closed) return;
    const { failure: message, keyField, logger, retryAfterMs = RETRY_AFTER_MS } = this.options;
    const fields: Record<string, string | number> = {};
    if (keyField !== undefined) fields[keyField] = failed[0];
    if (failed.length > 1) fields.failed = failed.length;
    logger.error(message, fields, failure.error);
    if (retryAfterMs === null || again.length === 0) return;
    for (const key of again) this.failed.add(key);
    this.retryTimer ??= setTimeout(() => {
      this.retryTimer = null;
      const keys = [...this.failed];
      this.failed.clear();
      this.touch(keys);
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
      // A change during this work waits for the rest after it.
      const wasDue = this.dueKeys.delete(key);
      const wasResting = this.endRest(key);
      if (wasDue || wasResting) this.touch([key]);
    }
  }
}

/** Decides when a key may run next: at once after a quiet time, else after a rest. */
class Pace {
  /** Ends of the last runs, latest first: at most BURST. */
  private readonly endsMs: number[] = [];
  /** Costs of the last runs, latest first: at most RECENT_RUNS. */
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
