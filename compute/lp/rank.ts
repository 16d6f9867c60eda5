/** Orders of rows: by a column's values, by address. */

/** Row numbers, largest value first; NaN last; ties in the order of the rows. */
export function rankOf(values: Float64Array): Uint32Array {
  const order = Uint32Array.from(values, (_, row) => row);
  return order.sort((a, b) => descending(values[a], values[b]) || a - b);
}

function descending(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  // Not b - a: it is NaN for two infinities.
  return a === b ? 0 : a > b ? -1 : 1;
}

/** Indexes of addresses, ascending by address. */
export function inOrderOfAddress(addresses: readonly string[]): Uint32Array {
  const order = Uint32Array.from(addresses, (_, i) => i);
  return order.sort((a, b) =>
    addresses[a] < addresses[b] ? -1 : addresses[a] > addresses[b] ? 1 : 0,
  );
}
