/** Makes packs behind the pages: one after the other, while pages leave room in the pool. */
import { setTimeout as sleep } from 'node:timers/promises';
import { openPack, type Pack } from '../../../compute/fragments/pack.js';
import { QueueFullError, type ComputePool } from '../../../compute/pool.js';
import { SegmentGoneError, type DepthSource } from '../../../storage/seams.js';
import { nameOf, type PackKey } from './key.js';

/** Packs that may wait to be made; what is asked for beyond that is asked for again. */
const MAX_WAITING = 4096;
/** Names of packs that have been missed once, and of packs that could not be made. */
const MAX_NAMES = 65_536;
/** While the pool has more to do than threads, a pack waits so long for its turn, and then takes it. */
const TURN_WAIT_MS = 20;
const TURN_LOOK_MS = 5;

/** A pack to be made, for a token with so many markets. */
interface Order {
  key: PackKey;
  marketCount: number;
}

export interface PackBuilderOptions {
  pool: ComputePool;
  depth: Pick<DepthSource, 'readSegments'>;
  /** Told of each pack as soon as it is made; the next one waits until it is done with it. */
  onPack: (key: PackKey, pack: Pack) => Promise<void>;
  onError: (key: PackKey, error: unknown) => void;
}

export class PackBuilder {
  /** By name. */
  readonly #waiting = new Map<string, Order>();
  /** Names, oldest first. */
  readonly #missed = new Set<string>();
  /** Names of packs that could not be made: the segment stays as it is, so would the next attempt. */
  readonly #givenUp = new Set<string>();
  #working: Promise<void> | null = null;
  #closing = false;

  constructor(private readonly options: PackBuilderOptions) {}

  /** Packs that wait to be made, with the one that is being made. */
  get pending(): number {
    return this.#waiting.size;
  }

  /**
   * Says that a page would have used a pack. It is made when that is said for the second time: a
   * client who reads a long history once, page by page, leaves nothing to be made.
   */
  miss(order: Order): void {
    const name = nameOf(order.key);
    if (this.#closing || this.#waiting.has(name) || this.#givenUp.has(name)) return;
    if (!this.#missedBefore(name)) return;
    if (this.#waiting.size >= MAX_WAITING) return;
    this.#waiting.set(name, order);
    this.#working ??= this.#work();
  }

  /** Resolves when there is nothing to be made. */
  async idle(): Promise<void> {
    while (this.#working !== null) await this.#working;
  }

  /** Ends the pack in work, leaves those that wait. Idempotent. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#waiting.clear();
    await this.idle();
  }

  #missedBefore(name: string): boolean {
    if (this.#missed.delete(name)) return true;
    addBounded(this.#missed, name);
    return false;
  }

  async #work(): Promise<void> {
    for (const [name, order] of this.#waiting) {
      try {
        const pack = await this.#make(order);
        if (pack !== null) await this.options.onPack(order.key, pack);
      } catch (error) {
        // Replaced meanwhile: the page that comes next asks for what stands in its place.
        if (!(error instanceof SegmentGoneError)) {
          addBounded(this.#givenUp, name);
          this.options.onError(order.key, error);
        }
      } finally {
        this.#waiting.delete(name);
      }
    }
    this.#working = null;
  }

  async #make({ key, marketCount }: Order): Promise<Pack | null> {
    const { pool, depth } = this.options;
    const { segmentId, group, coding } = key;
    for (let waitedMs = 0; pool.pendingTasks >= pool.threads && waitedMs < TURN_WAIT_MS;) {
      await sleep(TURN_LOOK_MS);
      waitedMs += TURN_LOOK_MS;
    }
    if (this.#closing) return null;
    const [segment] = await depth.readSegments([segmentId]);
    const input = { segment, group, coding, marketCount };
    try {
      const buffer = await pool.run('buildFragments', input, [segment.buffer as ArrayBuffer]);
      return openPack(buffer);
    } catch (error) {
      // No place in the queue: pages need it more.
      if (error instanceof QueueFullError) return null;
      throw error;
    }
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
