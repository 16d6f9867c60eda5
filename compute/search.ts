/** Binary search in ascending sequences. */

/** The first index in `[from, to)` for which `isReached` holds, as it does for all later ones; `to` if there is none. */
export function firstIndex(
  from: number,
  to: number,
  isReached: (index: number) => boolean,
): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isReached(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * The first index in `[from, to)` of ascending values whose value is not below `least`; `to` if there is none.
 * It has its own loop: calling a function at each step makes searches take half as long again.
 */
export function firstFrom(
  values: ArrayLike<number>,
  least: number,
  from = 0,
  to = values.length,
): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] < least) low = middle + 1;
    else high = middle;
  }
  return low;
}
