/** A plain implementation of which holder snapshots are kept (docs/definitions.md#holder-retention). */

const HOUR_S = 3600;

/** The newest zones that contain any of the times, at most `count`. */
function newestZones(times: readonly number[], zoneS: number, count: number): Set<number> {
  const zones = [...new Set(times.map((t) => Math.floor(t / zoneS)))].sort((a, b) => b - a);
  return new Set(zones.slice(0, count));
}

function lastOf(times: readonly number[], zoneS: number, zones: ReadonlySet<number>): number[] {
  return [...zones].map((zone) => Math.max(...times.filter((t) => Math.floor(t / zoneS) === zone)));
}

/**
 * Everything of the newest 49 hours, the last of each of the newest 216 hours, the last of each of
 * the newest 132 quarter days, the last of each of the newest 400 days; hours, quarter days and days
 * without a snapshot do not count.
 */
export function keptReference(times: readonly number[]): number[] {
  const recent = newestZones(times, HOUR_S, 49);
  const kept = [
    ...times.filter((t) => recent.has(Math.floor(t / HOUR_S))),
    ...lastOf(times, HOUR_S, newestZones(times, HOUR_S, 216)),
    ...lastOf(times, 6 * HOUR_S, newestZones(times, 6 * HOUR_S, 132)),
    ...lastOf(times, 24 * HOUR_S, newestZones(times, 24 * HOUR_S, 400)),
  ];
  return [...new Set(kept)].sort((a, b) => a - b);
}
