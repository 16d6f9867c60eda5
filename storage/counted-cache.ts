/** Caches that are bounded by how many entries they hold. */
import { LRUCache } from 'lru-cache';

/** A cache of the most recently used entries. With `max`, the library would allocate memory for all entries at once. */
export function countedCache<K extends {}, V extends {}>(maxEntries: number): LRUCache<K, V> {
  return new LRUCache({ maxSize: maxEntries, sizeCalculation: () => 1 });
}
