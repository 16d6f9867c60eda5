/** Lists of chosen types and venues. */

/** What is shown of several items. */
export interface Choice {
  /** Empty: all but those left out. */
  chosen: readonly string[];
  /** Empty unless `chosen` is. */
  leftOut: readonly string[];
}
export const ALL: Choice = { chosen: [], leftOut: [] };

export const isShown = ({ chosen, leftOut }: Choice, item: string): boolean =>
  chosen.length === 0 ? !leftOut.includes(item) : chosen.includes(item);

/**
 * The choice after a tick was set or removed. Of all, an item is left out; a list that has all items again is all.
 * @param all what can be chosen
 */
export function flipped(all: readonly string[], { chosen, leftOut }: Choice, item: string): Choice {
  if (chosen.length === 0) return { chosen, leftOut: toggled(leftOut, item) };
  const next = toggled(chosen, item);
  return all.every((one) => next.includes(one)) ? ALL : { chosen: next, leftOut: [] };
}

/** Adds the item to the list, or removes it. */
export function toggled(list: readonly string[], item: string): string[] {
  return list.includes(item) ? list.filter((one) => one !== item) : [...list, item];
}
