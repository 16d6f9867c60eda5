/** Which of a token's holder snapshots are kept as they age. */

import { DAY_S } from './periods.js';

const HOUR_S = 3600;

/** The newest zones of a length in which anything was stored, and what is kept of each. */
interface Retention {
  zoneS: number;
  zones: number;
  keeps: 'every' | 'last';
}

/**
 * Two days whole, nine days by the hour, 33 days by six hours: as much as windows that end with the
 * newest snapshot need to begin where they should, to 1% of their length, and a sparkline of 30 days
 * with the day before it. Then a year by the day, for a clock that is frozen in the past (as far back
 * as replay goes, and a sparkline more). Hours without a snapshot do not count: whoever stores few keeps them long,
 * and a snapshot of a wrong time displaces no more than one hour of others.
 */
export const RETENTION: readonly Retention[] = [
  { zoneS: HOUR_S, zones: 2 * 24 + 1, keeps: 'every' },
  { zoneS: HOUR_S, zones: 9 * 24, keeps: 'last' },
  { zoneS: 6 * HOUR_S, zones: 33 * 4, keeps: 'last' },
  { zoneS: DAY_S, zones: 400, keeps: 'last' },
];

/**
 * Those of a token's times that are kept, ascending. Thinning as they come keeps the same ones as
 * thinning all at once, in whatever order they come.
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
