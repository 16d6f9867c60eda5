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
  /** Known keys that come before the others, wherever they are in the queue. */
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
    // Nobody takes from an empty queue: what was deleted would stay in it.
    if (isDeleted && this.known.size === 0) this.clear();
    return isDeleted;
  }

  clear(): void {
    this.known.clear();
    this.first.clear();
    this.queue = [];
    this.at = 0;
  }

  /** Takes the first keys out. What comes before the others does not wait for them either. */
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
