/** Caches that are bounded by how many entries they hold. */
import { LRUCache } from 'lru-cache';

/** A cache of the entries used last. With `max`, the library would take the memory of all places at once. */
export function countedCache<K extends {}, V extends {}>(maxEntries: number): LRUCache<K, V> {
  return new LRUCache({ maxSize: maxEntries, sizeCalculation: () => 1 });
}
