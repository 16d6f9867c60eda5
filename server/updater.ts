/** Background work that brings up to date what depends on changed keys. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDamage } from '../compute/damage.js';
import { pushTo } from '../compute/collections.js';
import { Turns } from '../storage/turns.js';
import type { Logger } from './logger.js';

/** A paced key rests ten times as long as its work took: it gets one eleventh of the time. */
const PAUSE_FACTOR = 10;
const MIN_PAUSE_MS = 100;
/** Default for the longest rest of a paced key. */
const MAX_PAUSE_MS = 15_000;
/** How many of a key's last runs are remembered: BURST or more. The cheapest is its cost: the others include waiting. */
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

/** A finished call of `work`: its end, `performance.now()`, and its cost for one key. */
interface Run {
  endMs: number;
  costMs: number;
}

/** Works on keys in the order of their changes, one batch at a time. */
export class Updater<K extends string | number> {
  /** Changed keys; each leaves the set when its work begins. */
  private readonly dueKeys = new Set<K>();
  /** Changed keys that rest, and the timers that end their rest. */
  private readonly resting = new Map<K, NodeJS.Timeout>();
  /** Last runs of paced keys, latest first: at most RECENT_RUNS. */
  private readonly runs = new Map<K, Run[]>();
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
      const restMs = this.restMs(key);
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
    if (!this.working.has(key)) this.touchNow([key]);
    await done;
  }

  /** Forgets a key, including a change not yet worked on. */
  forget(key: K): void {
    this.endRest(key);
    this.dueKeys.delete(key);
    this.working.delete(key);
    this.runs.delete(key);
    this.failed.delete(key);
    this.release([key]);
  }

  /** Changed keys in the order of their changes, without those that rest. */
  get due(): ReadonlySet<K> {
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
    for (const key of this.resting.keys()) this.endRest(key);
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
    // One pass over the set: a new iterator would step over all finished keys.
    const changed = this.dueKeys.values();
    for (let batches = 1; ; batches++) {
      // Keys that somebody waits for come first, and alone: they wait for no other key's work.
      const batch = [...this.waiting.keys()].slice(0, batchKeys);
      if (batch.length === 0) {
        for (const key of changed) if (batch.push(key) === batchKeys) break;
      }
      if (batch.length === 0 || this.closed) return;
      for (const key of batch) this.dueKeys.delete(key);
      await this.workOn(batch);
      this.release(batch);
      // Work that never awaits would not release the event loop.
      if (batches % BATCHES_PER_CHECK === 0) await turns.take();
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
    if (this.options.paced !== true || this.closed) return;
    const run = { endMs: performance.now(), costMs: costMs / keyCount };
    for (const key of this.working) {
      this.runs.set(key, [run, ...(this.runs.get(key) ?? [])].slice(0, RECENT_RUNS));
      // A change during this work waits for the rest after it.
      if (this.dueKeys.delete(key) || this.endRest(key)) this.touch([key]);
    }
  }

  /** How long a key rests from now: until an interval after its last run, or not at all after a quiet time. */
  private restMs(key: K): number {
    const runs = this.runs.get(key) ?? [];
    if (runs.length < BURST) return 0;
    const { maxPauseMs = MAX_PAUSE_MS } = this.options;
    const pauseMs = PAUSE_FACTOR * Math.min(...runs.map(({ costMs }) => costMs));
    const intervalMs = Math.min(Math.max(pauseMs, MIN_PAUSE_MS), maxPauseMs);
    const burstEndMs = runs[BURST - 1].endMs + BURST * intervalMs;
    return Math.min(runs[0].endMs + intervalMs, burstEndMs) - performance.now();
  }
}
