/** Counts a file's snapshots, each once, however its rows lie in the chunks. */
import type { SnapshotRun } from '../../compute/segment/run.js';
import { widened } from '../typed-arrays.js';

/** Times of one token and tier, in the order of the file. */
interface Times {
  t: Uint32Array;
  length: number;
  /** Whether each is greater than the one before. */
  isAscending: boolean;
}

/** Takes 4 bytes a snapshot. */
export class SnapshotCount {
  private readonly byKey = new Map<string, Times>();

  add({ chain, address, tier, t }: SnapshotRun): void {
    const key = `${chain}:${address}:${tier}`;
    const times = this.byKey.get(key) ?? { t: new Uint32Array(1), length: 0, isAscending: true };
    this.byKey.set(key, times);
    const { length } = times;
    if (length + t.length > times.t.length) times.t = widened(times.t, 2 * (length + t.length));
    times.t.set(t, length);
    // A chunk's own times ascend.
    if (length > 0 && t[0] <= times.t[length - 1]) times.isAscending = false;
    times.length += t.length;
  }

  get count(): number {
    let count = 0;
    for (const { t, length, isAscending } of this.byKey.values()) {
      count += isAscending ? length : distinct(t.slice(0, length).sort());
    }
    return count;
  }
}

function distinct(sorted: Uint32Array): number {
  let count = 0;
  for (let i = 0; i < sorted.length; i++) if (sorted[i] !== sorted[i - 1]) count++;
  return count;
}
