/** Sorts long lists without holding the event loop. */
import type { Turns } from './turns.js';

/** Items that are sorted, or merged, between two looks at the clock: under a millisecond's work. */
const ITEMS_AT_ONCE = 1024;

/** A sorted copy; stable, as Array's own sort is. */
export async function sortInTurns<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
  turns: Turns,
): Promise<T[]> {
  let runs: T[][] = [];
  for (let from = 0; from < items.length; from += ITEMS_AT_ONCE) {
    runs.push(items.slice(from, from + ITEMS_AT_ONCE).sort(compare));
    await turns.take();
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let i = 0; i + 1 < runs.length; i += 2) {
      merged.push(await merge(runs[i], runs[i + 1], compare, turns));
    }
    if (runs.length % 2 === 1) merged.push(runs[runs.length - 1]);
    runs = merged;
  }
  return runs[0] ?? [];
}

async function merge<T>(
  a: readonly T[],
  b: readonly T[],
  compare: (a: T, b: T) => number,
  turns: Turns,
): Promise<T[]> {
  const merged: T[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const takesA = j === b.length || (i < a.length && compare(a[i], b[j]) <= 0);
    merged.push(takesA ? a[i++] : b[j++]);
    if (merged.length % ITEMS_AT_ONCE === 0) await turns.take();
  }
  return merged;
}
