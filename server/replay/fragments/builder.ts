/** Makes packs beside the pages: in one task at a time, so that most of the pool is left to pages. */
import { openPack, type Pack } from '../../../compute/fragments/pack.js';
import type { ComputePool, RunTask } from '../../../compute/pool.js';
import { SegmentGoneError, type DepthSource } from '../../../storage/contract.js';
import { nameOf, type PackKey } from './key.js';

/** Packs that may wait to be made; what is asked for beyond that is asked for again. */
const MAX_WAITING = 4096;
/**
 * Packs that one task makes: about a page's. Reading, queueing and answering are paid for once, and a
 * page that waits behind the task waits about as long as behind another page.
 */
const MAX_PACKS_AT_ONCE = 8;
/** Names of packs that have been missed once, and of packs that could not be made. */
const MAX_NAMES = 65_536;

/** A pack to be made, for a token with so many markets. */
interface Order {
  key: PackKey;
  marketCount: number;
}

export interface PackBuilderOptions {
  pool: ComputePool;
  depth: Pick<DepthSource, 'readSegments'>;
  /** Told of a task's packs, one after the other; the next task waits until it is done with them. */
  onPack: (key: PackKey, pack: Pack) => Promise<void>;
  onError: (key: PackKey, error: unknown) => void;
}

export class PackBuilder {
  /** By name. */
  private readonly waiting = new Map<string, Order>();
  /** Names, oldest first. */
  private readonly missed = new Set<string>();
  /** Names of packs that could not be made: the segment stays as it is, so would the next attempt. */
  private readonly givenUp = new Set<string>();
  private working: Promise<void> | null = null;
  private closing = false;

  constructor(private readonly options: PackBuilderOptions) {}

  /** Packs that wait to be made, with the one that is being made. */
  get pending(): number {
    return this.waiting.size;
  }

  /**
   * Says that a page would have used a pack. It is made when that is said for the second time: a
   * client who reads a long history once, page by page, leaves nothing to be made.
   */
  miss(order: Order): void {
    const name = nameOf(order.key);
    if (this.closing || this.waiting.has(name) || this.givenUp.has(name)) return;
    if (!this.missedBefore(name)) return;
    if (this.waiting.size >= MAX_WAITING) return;
    this.waiting.set(name, order);
    this.working ??= this.work()
      // The pool has been closed.
      .catch(() => this.waiting.clear())
      .finally(() => (this.working = null));
  }

  /** Resolves when there is nothing to be made. */
  async idle(): Promise<void> {
    while (this.working !== null) await this.working;
  }

  /** Ends the pack in work, leaves those that wait. Idempotent. */
  async close(): Promise<void> {
    this.closing = true;
    this.waiting.clear();
    await this.idle();
  }

  private missedBefore(name: string): boolean {
    if (this.missed.delete(name)) return true;
    addBounded(this.missed, name);
    return false;
  }

  private async work(): Promise<void> {
    while (this.waiting.size > 0) {
      await this.options.pool.schedule('fragments', 'fragments', async (run) => {
        // The other orders of the same page come before this goes on.
        await Promise.resolve();
        const orders = [...this.waiting.values()].slice(0, MAX_PACKS_AT_ONCE);
        await this.makeAll(orders, run);
        for (const { key } of orders) this.waiting.delete(nameOf(key));
      });
    }
  }

  /** Makes packs together, and each for itself where that fails: one may be at fault for all. */
  private async makeAll(orders: readonly Order[], run: RunTask): Promise<void> {
    if (this.closing) return;
    try {
      const packs = await this.make(orders, run);
      for (const [i, pack] of packs.entries()) await this.options.onPack(orders[i].key, pack);
    } catch (error) {
      if (orders.length > 1) for (const order of orders) await this.makeAll([order], run);
      else if (orders.length === 1) this.fail(orders[0], error);
    }
  }

  private fail({ key }: Order, error: unknown): void {
    // Replaced meanwhile: the page that comes next asks for what stands in its place.
    if (error instanceof SegmentGoneError) return;
    addBounded(this.givenUp, nameOf(key));
    this.options.onError(key, error);
  }

  private async make(orders: readonly Order[], run: RunTask): Promise<Pack[]> {
    const { depth } = this.options;
    const ids = [...new Set(orders.map(({ key }) => key.segmentId))];
    const segments = await depth.readSegments(ids);
    const inputs = orders.map(({ key: { segmentId, group, coding }, marketCount }) => {
      return { segment: segments[ids.indexOf(segmentId)], group, coding, marketCount };
    });
    const transfer = segments.map(({ buffer }) => buffer as ArrayBuffer);
    return (await run('buildFragments', inputs, transfer)).map(openPack);
  }
}

/** Adds a name; the oldest go where there are too many. */
function addBounded(names: Set<string>, name: string): void {
  names.add(name);
  for (const oldest of names) {
    if (names.size <= MAX_NAMES) return;
    names.delete(oldest);
  }
}
