/** Results that callers share, also while they are being made, bounded by their bytes. */
import { LRUCache } from 'lru-cache';

interface Bounds<V> {
  maxBytes: number;
  /** The assumed bytes of a result until it is made. */
  expectedBytes: number;
  bytesOf: (made: V) => number;
}

export class SharedWork<V> {
  private readonly kept: LRUCache<string, Promise<V>>;

  constructor(private readonly bounds: Bounds<V>) {
    this.kept = new LRUCache({ maxSize: bounds.maxBytes });
  }

  /** The result kept for a key, or else a new one; a failure is not kept. */
  get(key: string, make: () => Promise<V>): Promise<V> {
    const known = this.kept.get(key);
    if (known !== undefined) return known;
    const { expectedBytes, bytesOf } = this.bounds;
    const made = make();
    this.kept.set(key, made, { size: expectedBytes });
    made.then(
      (value) => {
        // It may be gone, or another one by now. set() alone would not change the size.
        if (this.kept.peek(key) !== made) return;
        this.kept.delete(key);
        this.kept.set(key, made, { size: bytesOf(value) });
      },
      () => {
        if (this.kept.peek(key) === made) this.kept.delete(key);
      },
    );
    return made;
  }

  clear(): void {
    this.kept.clear();
  }
}
