/** Lists of chosen types and venues. */

/**
 * What is chosen after a tick was set or removed; empty: all.
 * @param all what can be chosen @param chosen empty: all
 */
export function without(all: readonly string[], chosen: readonly string[], item: string): string[] {
  const next = toggled(chosen.length === 0 ? all : chosen, item);
  return all.every((one) => next.includes(one)) ? [] : next;
}

/** Adds the item to the list, or removes it. */
export function toggled(list: readonly string[], item: string): string[] {
  return list.includes(item) ? list.filter((one) => one !== item) : [...list, item];
}
