/** The fragments that are to be made, and making them: those that pages missed, and those of new segments. */
import type { ComputePool, RunTask } from '../../compute/pool.js';
import type { FragmentsKey } from '../../compute/replay/fragment-file.js';
import { PoolUnavailableError, type Work } from '../../compute/scheduler.js';
import { type DepthSource, SegmentGoneError } from '../../storage/contract.js';
import { StoreUnavailableError } from '../../storage/errors.js';
import { countedCache } from '../../storage/counted-cache.js';
import { FRAGMENT_FILES } from '../../storage/fragment-files.js';
import type { Logger } from '../logger.js';
import type { FragmentStore } from './fragment-store.js';
import { FragmentsAdmission } from './fragments-admission.js';

/** Segments whose fragments may wait to be made; others are ordered when they are missed again. */
const MAX_WAITING_FRAGMENTS = 4096;
/**
 * Segments whose fragments one task makes, about a page's: reading, queueing and replying are paid once, and a
 * page that waits for the task waits about as long as for another page.
 */
const MAX_SEGMENTS_AT_ONCE = 8;
/** Names of fragments that were missed once, and of those that could not be made. */
const MAX_NAMES = 65_536;

export interface FragmentsOrder {
  key: FragmentsKey;
  marketCount: number;
}

interface FragmentOrdersOptions {
  pool: Pick<ComputePool, 'schedule'>;
  depth: Pick<DepthSource, 'readSegments'>;
  logger: Logger;
}

export class FragmentOrders {
  /** By name. */
  private readonly waiting = new Map<string, FragmentsOrder>();
  private readonly missedOnce = countedCache<string, true>(MAX_NAMES);
  /** Could not be made: segments never change, so another attempt would fail, too. */
  private readonly givenUp = countedCache<string, true>(MAX_NAMES);
  private readonly admission = new FragmentsAdmission();
  private making: Promise<void> | null = null;
  private closing = false;

  constructor(
    private readonly store: FragmentStore,
    private readonly options: FragmentOrdersOptions,
  ) {}

  /** Whether fragments exist, will be made, or cannot be made. */
  isDone(key: FragmentsKey): boolean {
    const name = FRAGMENT_FILES.textOf(key);
    return this.store.hasFile(key) || this.waiting.has(name) || this.givenUp.has(name);
  }

  /** Call when a page was made from the fragments of this many segments. */
  served(segments: number): void {
    this.admission.served(segments);
  }

  /** Call when a page lacks fragments, with all of them. */
  missed(orders: readonly FragmentsOrder[]): void {
    this.admission.missed(orders.length);
    for (const order of orders) this.miss(order);
  }

  /** Makes fragments before they are requested, while the pool is idle, and keeps them only in files. */
  async makeAhead(orders: readonly FragmentsOrder[]): Promise<void> {
    await this.schedule('idle', (run) => this.makeAll(orders, run, true));
  }

  /** Resolves when nothing that was missed is being made. */
  async idle(): Promise<void> {
    while (this.making !== null) await this.making;
  }

  /** Drops waiting orders, and waits for the current task. Idempotent. */
  async close(): Promise<void> {
    this.closing = true;
    this.waiting.clear();
    await this.idle();
  }

  /**
   * Orders fragments that are missed for the second time: a client that reads a long history once, page by page,
   * orders nothing.
   */
  private miss(order: FragmentsOrder): void {
    const name = FRAGMENT_FILES.textOf(order.key);
    if (this.closing || this.waiting.has(name) || this.givenUp.has(name)) return;
    if (!this.missedOnce.has(name)) {
      this.missedOnce.set(name, true);
      return;
    }
    if (this.waiting.size >= MAX_WAITING_FRAGMENTS) return;
    if (!this.admission.takes(this.store.hasRoom(this.waiting.size + 1))) return;
    this.missedOnce.delete(name);
    this.waiting.set(name, order);
    this.making ??= this.makeWaiting()
      // The pool has been closed.
      .catch(() => this.waiting.clear())
      .finally(() => (this.making = null));
  }

  private async makeWaiting(): Promise<void> {
    while (this.waiting.size > 0) {
      await this.schedule('fragments', async (run) => {
        // Lets the page that made the first order add its others.
        await Promise.resolve();
        const orders = [...this.waiting.values()].slice(0, MAX_SEGMENTS_AT_ONCE);
        await this.makeAll(orders, run, false);
        for (const { key } of orders) this.waiting.delete(FRAGMENT_FILES.textOf(key));
      });
    }
  }

  private schedule(work: Work, job: (run: RunTask) => Promise<void>): Promise<void> {
    return this.options.pool.schedule(work, 'fragments', job);
  }

  /** Makes fragments in one task; if that fails, one segment at a time, since a single one may be at fault. */
  private async makeAll(
    orders: readonly FragmentsOrder[],
    run: RunTask,
    isAhead: boolean,
  ): Promise<void> {
    if (this.closing) return;
    try {
      const made = await this.make(orders, run);
      for (const [i, { key }] of orders.entries()) {
        await this.store.keep(key, made[i], isAhead);
      }
    } catch (error) {
      if (orders.length > 1) {
        for (const order of orders) await this.makeAll([order], run, isAhead);
      } else if (orders.length === 1)
        this.giveUp(FRAGMENT_FILES.textOf(orders[0].key), error, isAhead);
    }
  }

  private giveUp(name: string, error: unknown, isAhead: boolean): void {
    // The segment was replaced in between, a thread was lost, or the archive cannot be read: later pages may order them again.
    const isGone = error instanceof SegmentGoneError || error instanceof StoreUnavailableError;
    if (isGone || error instanceof PoolUnavailableError) return;
    // A page that meets the fault reports it, and so does a check.
    if (isAhead) return;
    this.givenUp.set(name, true);
    this.options.logger.error('fragments could not be made', { fragments: name }, error);
  }

  private async make(orders: readonly FragmentsOrder[], run: RunTask): Promise<Uint8Array[]> {
    const ids = [...new Set(orders.map(({ key }) => key.segmentId))];
    const segments = await this.options.depth.readSegments(ids);
    const inputs = orders.map(({ key, marketCount }) => {
      return { ...key, segment: segments[ids.indexOf(key.segmentId)], marketCount };
    });
    const transfer = segments.map(({ buffer }) => buffer as ArrayBuffer);
    return run('makeFragments', inputs, transfer);
  }
}
