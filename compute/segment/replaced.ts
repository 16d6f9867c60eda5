/** Which stored snapshots an addition replaces, and how their cells compare (docs/definitions.md#replaced). */
import { isTombstone, type JoinMode } from './merge.js';
import type { SnapshotRun } from './run.js';

/**
 * Replaced snapshots. Snapshot `s` has the entries `offsets[s] <= i < offsets[s + 1]` of the last three columns:
 * a market, and how many cells it had before and has after.
 */
export interface ReplacedSnapshots {
  /** Epoch seconds, ascending. */
  t: Uint32Array;
  /** Snapshots + 1 entries, the first one 0. */
  offsets: Uint32Array;
  market: Uint16Array;
  before: Uint32Array;
  after: Uint32Array;
}

/**
 * Compares stored snapshots with added ones of the same times. Mode `replace` compares whole snapshots,
 * mode `merge` the markets that both have; a snapshot without such a market is not replaced.
 * @param stored ascending, without overlap; market indexes are the token's own, as in `added`
 */
export function replacedSnapshots(
  stored: readonly SnapshotRun[],
  added: SnapshotRun,
  mode: JoinMode,
): ReplacedSnapshots {
  const rows = new Map(Array.from(added.t, (t, row) => [t, row]));
  const t: number[] = [];
  const offsets = [0];
  const entries: [market: number, before: number, after: number][] = [];
  for (const run of stored) {
    for (const [storedRow, storedT] of run.t.entries()) {
      const row = rows.get(storedT);
      if (row === undefined) continue;
      const before = cellsByMarket(run, storedRow);
      const after = cellsByMarket(added, row);
      const markets =
        mode === 'merge'
          ? [...after.keys()].filter((market) => (before.get(market) ?? 0) > 0)
          : [...new Set([...before.keys(), ...after.keys()])];
      if (mode === 'merge' && markets.length === 0) continue;
      for (const market of markets) {
        entries.push([market, before.get(market) ?? 0, after.get(market) ?? 0]);
      }
      t.push(storedT);
      offsets.push(entries.length);
    }
  }
  return {
    t: Uint32Array.from(t),
    offsets: Uint32Array.from(offsets),
    market: Uint16Array.from(entries, ([market]) => market),
    before: Uint32Array.from(entries, ([, before]) => before),
    after: Uint32Array.from(entries, ([, , after]) => after),
  };
}

/** How many cells of each market have an amount; 0 for a market that is only named. */
function cellsByMarket(run: SnapshotRun, row: number): Map<number, number> {
  const cells = new Map<number, number>();
  for (let c = run.cellOffsets[row]; c < run.cellOffsets[row + 1]; c++) {
    const before = cells.get(run.market[c]) ?? 0;
    cells.set(run.market[c], before + (isTombstone(run, c) ? 0 : 1));
  }
  return cells;
}
