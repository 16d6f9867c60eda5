/** Which snapshot of a token is its newest at a moment, and when another one will be. */
import { TIERS } from '../../compute/market.js';
import type { NewestPlaces, SnapshotPlace } from '../seams.js';
import { firstRowFrom, firstSegmentFrom, firstT, timeFrom, type Directory } from './directory.js';

/**
 * The newest snapshot at `nowS` and the newest that is at least `delayS` old by then: the greatest
 * `t`, of two tiers with the same one the finer (data.md section 4).
 */
export function newestPlaces(directory: Directory, nowS: number, delayS: number): NewestPlaces {
  const next = Math.min(timeAfter(directory, nowS), timeAfter(directory, nowS - delayS) + delayS);
  return {
    newest: newestPlace(directory, nowS),
    delayed: newestPlace(directory, nowS - delayS),
    nextChangeS: next === Infinity ? null : next,
  };
}

function newestPlace(directory: Directory, atS: number): SnapshotPlace | null {
  let newest: SnapshotPlace | null = null;
  // Finest first: a coarser one has to be later to take its place.
  for (const tier of TIERS) {
    const segments = directory[tier];
    let index = firstSegmentFrom(segments, atS + 1);
    if (index === segments.length || firstT(segments[index]) > atS) index--;
    if (index < 0) continue;
    const { segmentId, times } = segments[index];
    const row = firstRowFrom(times, atS + 1) - 1;
    if (newest === null || times[row] > newest.t) newest = { segmentId, row, t: times[row], tier };
  }
  return newest;
}

/** The first time of a snapshot later than `atS`, Infinity where there is none. */
function timeAfter(directory: Directory, atS: number): number {
  return Math.min(...TIERS.map((tier) => timeFrom(directory[tier], atS + 1)));
}
