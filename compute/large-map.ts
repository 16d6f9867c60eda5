/** A Map for as many keys as a store can have tokens. */

const SHARDS = 64;
/** Consecutive ids share a shard: ids come in order, and evenly filled shards would all be copied at once. */
const IDS_TOGETHER = 1024;
/** How many characters at a key's end choose its shard: in addresses they are practically random. */
const CHARS = 3;

/**
 * V8 copies a whole Map when it outgrows its capacity, which blocks the event loop for 40 ms or more at half a million
 * entries. A LargeMap copies only one shard. It does not keep the order of the keys.
 */
export class LargeMap<K extends string | number, V> {
  private readonly shards = Array.from({ length: SHARDS }, () => new Map<K, V>());
  size = 0;

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
    this.size += shard.size - before;
  }

  delete(key: K): boolean {
    const isDeleted = this.shardOf(key).delete(key);
    if (isDeleted) this.size--;
    return isDeleted;
  }

  clear(): void {
    for (const shard of this.shards) shard.clear();
    this.size = 0;
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
