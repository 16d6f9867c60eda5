import type { MarketRun } from '../../compute/segment/join.js';
import { InputError } from '../errors.js';

/** Finds a snapshot of flat cells that comes back after another one: its rows did not lie together. */
export class SeenSnapshots {
  private readonly seen = new Map<string, { latest: number; all: Set<number> }>();

  constructor(private readonly file: string) {}

  /** @throws InputError where a snapshot of these runs came in an earlier batch */
  add(parts: readonly MarketRun[]): void {
    for (const { run } of parts) {
      const key = `${run.chain}:${run.address}:${run.tier}`;
      const known = this.seen.get(key) ?? { latest: -1, all: new Set<number>() };
      for (const t of run.t) {
        if (t <= known.latest && known.all.has(t)) {
          throw new InputError(
            `${this.file}: t: the rows of the snapshot of ${run.address} at ${t} (${run.tier}) must lie together`,
          );
        }
        known.latest = Math.max(known.latest, t);
        known.all.add(t);
      }
      this.seen.set(key, known);
    }
  }
}
