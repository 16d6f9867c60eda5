/** Orders of things that have numbers; of equal ones the earlier stands first. */

/** Orders that a board nests in a token at most. */
export const MAX_TOP_ORDERS = 20;

/**
 * Ranks by value, the largest and the smallest first; `NaN` stands for null, and last in both.
 * @param desc, asc get the indexes of `values`, as many as there are
 */
export function rankBothWays(values: Float64Array, desc: Uint32Array, asc: Uint32Array): void {
  let known = 0;
  for (let i = 0; i < values.length; i++) if (!Number.isNaN(values[i])) desc[known++] = i;
  let last = known;
  for (let i = 0; i < values.length; i++) if (Number.isNaN(values[i])) desc[last++] = i;
  asc.set(desc);
  desc.subarray(0, known).sort((a, b) => values[b] - values[a] || a - b);
  asc.subarray(0, known).sort((a, b) => values[a] - values[b] || a - b);
}

/**
 * The indexes of the largest values, at most MAX_TOP_ORDERS, the largest first.
 * @param into gets them from index `at` on
 */
export function topOrders(values: Float64Array, into: Uint32Array, at: number): void {
  let found = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    let place = at + found;
    if (found === MAX_TOP_ORDERS) {
      if (value <= values[into[place - 1]]) continue;
      place--;
    } else found++;
    for (; place > at && values[into[place - 1]] < value; place--) into[place] = into[place - 1];
    into[place] = i;
  }
}
