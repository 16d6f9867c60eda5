/** Thins holder snapshots as they age (docs/definitions.md#holder-retention). */
import { DAY_S, HOUR_S } from '../time.js';

/** A rule: of each of the newest `zones` spans of `zoneS` seconds that have snapshots, every snapshot stays, or the last. */
interface ThinningRule {
  zoneS: number;
  zones: number;
  keeps: 'every' | 'last';
}

/**
 * Two whole days, nine days by the hour, 33 days by six hours: enough to start windows within 1% of
 * their length, and for a sparkline of 30 days with the day before it. Then 400 days by the day, for a
 * clock that is frozen in the past (as far back as replay goes, plus a sparkline). Spans without a
 * snapshot do not count: rare snapshots are kept for long, and a snapshot with a wrong time displaces
 * at most one hour of others.
 */
const RETENTION: readonly ThinningRule[] = [
  { zoneS: HOUR_S, zones: 2 * 24 + 1, keeps: 'every' },
  { zoneS: HOUR_S, zones: 9 * 24, keeps: 'last' },
  { zoneS: 6 * HOUR_S, zones: 33 * 4, keeps: 'last' },
  { zoneS: DAY_S, zones: 400, keeps: 'last' },
];

/**
 * The times to keep for a token, ascending. Thinning after each snapshot, in any order, keeps the same
 * times as thinning once at the end.
 * @param times ascending, epoch seconds
 */
export function keptTimes(times: ArrayLike<number>): number[] {
  const kept: number[] = [];
  const states = RETENTION.map((retention) => ({ ...retention, zone: -1, seen: 0 }));
  for (let i = times.length - 1; i >= 0; i--) {
    let isKept = false;
    for (const state of states) {
      const zone = Math.floor(times[i] / state.zoneS);
      const isLast = zone !== state.zone;
      if (isLast) state.seen++;
      state.zone = zone;
      isKept ||= state.seen <= state.zones && (isLast || state.keeps === 'every');
    }
    if (isKept) kept.push(times[i]);
  }
  return kept.reverse();
}
