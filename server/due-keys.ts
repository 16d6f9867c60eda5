/** Keys that wait for an updater: up to one for each token. */
import { LargeMap } from '../compute/large-map.js';

/** Taken keys are removed from the queue once there are this many, and at least as many as the others. */
const TAKEN_AT_ONCE = 1024;

/**
 * Keys in the order in which they were added. This is not a Set, because a Set steps over all deleted keys to find the
 * next one, and copies all keys when it grows.
 */
export class DueKeys<K extends string | number> {
  private readonly known = new LargeMap<K, true>();
  /** Known keys that come before the others, at any place of the queue. */
  private readonly first = new Set<K>();
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

  /** Adds a key before the others, or moves it there. */
  addFirst(key: K): void {
    this.known.set(key, true);
    this.first.add(key);
  }

  delete(key: K): boolean {
    this.first.delete(key);
    const isDeleted = this.known.delete(key);
    // Nobody takes from an empty queue, so deleted keys would stay in it.
    if (isDeleted && this.known.size === 0) this.clear();
    return isDeleted;
  }

  clear(): void {
    this.known.clear();
    this.first.clear();
    this.queue = [];
    this.at = 0;
  }

  /** Removes the first keys and returns them. Keys added by addFirst() come alone, so they wait for no other key's work. */
  take(count: number): K[] {
    const taken = [...this.first].slice(0, count);
    for (const key of taken) this.delete(key);
    if (taken.length > 0) return taken;
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
    const queued = this.queue.slice(this.at).filter((key) => this.known.has(key));
    return new Set([...this.first, ...queued]).values();
  }
}
