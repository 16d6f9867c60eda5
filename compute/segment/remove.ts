/** Removes snapshots, or the cells of some markets, from a run. */
import { type CentsColumn, narrowCents, type SnapshotRun } from './run.js';

/** What to remove: `fromS <= t < toS`. */
export interface Removal {
  fromS: number;
  toS: number;
  /** By market index: 1 if its cells are removed; null removes whole snapshots. */
  markets: Uint8Array | null;
}

export interface Removed {
  /** Removed snapshots; if only some markets were removed, the snapshots left without cells. */
  snapshots: number;
  /** Snapshots that lost cells and still have others. */
  changedSnapshots: number;
  cells: number;
}

export function removeCells(
  run: SnapshotRun,
  { fromS, toS, markets }: Removal,
): { run: SnapshotRun; removed: Removed } {
  const removed: Removed = { snapshots: 0, changedSnapshots: 0, cells: 0 };
  const rows: number[] = [];
  const offsets = [0];
  const kept: number[] = [];
  for (const [row, t] of run.t.entries()) {
    const first = run.cellOffsets[row];
    const last = run.cellOffsets[row + 1];
    const before = kept.length;
    const isInside = t >= fromS && t < toS;
    for (let c = first; c < last; c++) {
      if (!isInside || markets?.[run.market[c]] === 0) kept.push(c);
    }
    const lost = last - first - (kept.length - before);
    removed.cells += lost;
    const isGone = isInside && (markets === null || (lost > 0 && kept.length === before));
    if (isGone) {
      removed.snapshots++;
      continue;
    }
    if (lost > 0) removed.changedSnapshots++;
    rows.push(row);
    offsets.push(kept.length);
  }
  const picked = <C extends Uint16Array | Int16Array | CentsColumn>(column: C): C => {
    const copy = column.slice(0, kept.length) as C;
    for (const [i, c] of kept.entries()) copy[i] = column[c];
    return copy;
  };
  return {
    run: {
      ...run,
      t: Uint32Array.from(rows, (row) => run.t[row]),
      priceUsd: Float64Array.from(rows, (row) => run.priceUsd[row]),
      cellOffsets: Int32Array.from(offsets),
      market: picked(run.market),
      bin: picked(run.bin),
      supportCents: narrowCents(picked(run.supportCents), kept.length),
      resistanceCents: narrowCents(picked(run.resistanceCents), kept.length),
    },
    removed,
  };
}
