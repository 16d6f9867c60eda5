/** Small helpers for maps and objects. */

/** Appends an item to a key's list, creating it if needed. */
export function pushTo<K, T>(
  lists: { get(key: K): T[] | undefined; set(key: K, list: T[]): unknown },
  key: K,
  item: T,
): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}

/** An object with these keys and the value of each. */
export function recordOf<K extends string, V>(
  keys: readonly K[],
  valueOf: (key: K) => V,
): Record<K, V> {
  return Object.fromEntries(keys.map((key) => [key, valueOf(key)])) as Record<K, V>;
}
