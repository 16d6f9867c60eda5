/** Keys that wait for a follower: as many as there are tokens. */
import { LargeMap } from '../compute/large-map.js';

/** Keys that were taken are cut off when there are so many, and as many as others. */
const TAKEN_AT_ONCE = 1024;

/**
 * Keys in the order in which they were added. A Set steps over what was deleted before it finds the next one, and
 * is copied whole when it grows.
 */
export class DueKeys<K extends string | number> {
  private readonly known = new LargeMap<K, true>();
  /** The known keys from `at` on, and between them keys that were deleted. */
  private queue: K[] = [];
  private at = 0;

  get size(): number {
    return this.known.size;
  }

  has(key: K): boolean {
    return this.known.has(key);
  }

  add(key: K): void {
    if (this.known.has(key)) return;
    this.known.set(key, true);
    this.queue.push(key);
  }

  delete(key: K): boolean {
    const isDeleted = this.known.delete(key);
    // Nobody takes from an empty queue: what was deleted would stay in it.
    if (isDeleted && this.known.size === 0) this.clear();
    return isDeleted;
  }

  clear(): void {
    this.known.clear();
    this.queue = [];
    this.at = 0;
  }

  /** Takes the first keys out. */
  take(count: number): K[] {
    const taken: K[] = [];
    while (taken.length < count && this.at < this.queue.length) {
      const key = this.queue[this.at++];
      if (this.known.delete(key)) taken.push(key);
    }
    if (this.at >= TAKEN_AT_ONCE && 2 * this.at >= this.queue.length) {
      this.queue = this.queue.slice(this.at);
      this.at = 0;
    }
    return taken;
  }

  [Symbol.iterator](): IterableIterator<K> {
    return new Set(this.queue.slice(this.at).filter((key) => this.known.has(key))).values();
  }
}
