/** The largest holders of a snapshot. */
import type { HolderSnapshot, OwnerNames } from './history.js';

/** Some holders of a snapshot, the largest balance first; parallel columns. */
export interface RankedHolders {
  owner: Uint32Array;
  balance: Float64Array;
}

/**
 * The `limit` largest holders, those with the same balance by their address (bytes) ascending.
 * One pass over the balances: only those that may be among the largest are ever sorted.
 */
export function largestHolders(
  { owner, balance }: HolderSnapshot,
  names: OwnerNames,
  limit: number,
): RankedHolders {
  const before = (a: number, b: number): number =>
    balance[b] - balance[a] || compareNames(names, owner[a], owner[b]);
  // Rows; sorted and cut back to `limit` whenever there are twice as many.
  let best: number[] = [];
  let least = -Infinity;
  for (let row = 0; row < balance.length; row++) {
    // One that ties with the least stays: its name may come before.
    if (balance[row] < least) continue;
    if (best.push(row) < 2 * limit) continue;
    best = best.sort(before).slice(0, limit);
    least = balance[best[limit - 1]];
  }
  best = best.sort(before).slice(0, limit);
  return {
    owner: Uint32Array.from(best, (row) => owner[row]),
    balance: Float64Array.from(best, (row) => balance[row]),
  };
}

/** What an owner holds in a snapshot; 0 where it is not in it. */
export function balanceOf({ owner, balance }: HolderSnapshot, id: number): number {
  let from = 0;
  let to = owner.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (owner[middle] < id) from = middle + 1;
    else to = middle;
  }
  return owner[from] === id ? balance[from] : 0;
}

/** An owner's address. */
export function ownerName({ offsets, bytes }: OwnerNames, id: number): string {
  return String.fromCharCode(...bytes.subarray(offsets[id], offsets[id + 1]));
}

function compareNames({ offsets, bytes }: OwnerNames, a: number, b: number): number {
  const lengthA = offsets[a + 1] - offsets[a];
  const lengthB = offsets[b + 1] - offsets[b];
  const shared = Math.min(lengthA, lengthB);
  for (let i = 0; i < shared; i++) {
    const difference = bytes[offsets[a] + i] - bytes[offsets[b] + i];
    if (difference !== 0) return difference;
  }
  return lengthA - lengthB;
}
