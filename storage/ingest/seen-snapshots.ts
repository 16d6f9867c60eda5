import type { Fault } from '../../compute/ingest/faults.js';
import type { RunPart } from '../../compute/ingest/run-builder.js';

/** Finds a snapshot of flat cells that comes back after another one: its rows did not lie together. */
export class SeenSnapshots {
  private readonly seen = new Map<string, { latest: number; all: Set<number> }>();

  /** Takes a batch's snapshots of one token and tier; a fault for each that an earlier batch had. */
  add({ run, lines }: RunPart): Fault[] {
    const key = `${run.chain}:${run.address}:${run.tier}`;
    const known = this.seen.get(key) ?? { latest: -1, all: new Set<number>() };
    this.seen.set(key, known);
    const faults: Fault[] = [];
    run.t.forEach((t, i) => {
      if (t <= known.latest && known.all.has(t)) {
        const message = 'the rows of one snapshot must lie together';
        faults.push({ line: lines[i], field: 't', message });
      }
      known.latest = Math.max(known.latest, t);
      known.all.add(t);
    });
    return faults;
  }
}
