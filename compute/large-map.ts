/** A Map for as many keys as a store may have tokens. */

const SHARDS = 64;
/** Neighbouring ids in one shard: ids come in order, and shards that grew evenly would all be copied at once. */
const IDS_TOGETHER = 1024;
/** Characters at a key's end that choose its shard: those of addresses are as good as random. */
const CHARS = 3;

/**
 * V8 copies a whole Map when it outgrows its capacity, which blocks the event loop for 40 ms or more at half a million
 * entries. Here it copies one shard only. The order of the keys is not kept.
 */
export class LargeMap<K extends string | number, V> {
  private readonly shards = Array.from({ length: SHARDS }, () => new Map<K, V>());
  private count = 0;

  get size(): number {
    return this.count;
  }

  get(key: K): V | undefined {
    return this.shardOf(key).get(key);
  }

  has(key: K): boolean {
    return this.shardOf(key).has(key);
  }

  set(key: K, value: V): void {
    const shard = this.shardOf(key);
    const before = shard.size;
    shard.set(key, value);
    this.count += shard.size - before;
  }

  delete(key: K): boolean {
    const isDeleted = this.shardOf(key).delete(key);
    if (isDeleted) this.count--;
    return isDeleted;
  }

  clear(): void {
    for (const shard of this.shards) shard.clear();
    this.count = 0;
  }

  *values(): IterableIterator<V> {
    for (const shard of this.shards) yield* shard.values();
  }

  *[Symbol.iterator](): IterableIterator<[K, V]> {
    for (const shard of this.shards) yield* shard;
  }

  private shardOf(key: K): Map<K, V> {
    if (typeof key === 'number') return this.shards[Math.floor(key / IDS_TOGETHER) % SHARDS];
    let hash = 0;
    for (let i = Math.max(0, key.length - CHARS); i < key.length; i++) {
      hash = 31 * hash + key.charCodeAt(i);
    }
    return this.shards[hash % SHARDS];
  }
}
