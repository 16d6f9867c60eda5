/** 'This hour' and the periods that end with it (docs/definitions.md#this-hour). */
import { HOUR_S } from '../time.js';

/** Hours of each period of the DLMM board. */
export const PERIODS_H = { '1h': 1, '2h': 2, '4h': 4, '12h': 12, '24h': 24 } as const;
export type DlmmPeriod = keyof typeof PERIODS_H;
export const DLMM_PERIODS = Object.keys(PERIODS_H) as DlmmPeriod[];

export const LONGEST_PERIOD_H = PERIODS_H['24h'];
/** Hours that can count: the current one and the longest period before it. */
export const HOURS_IN_SIGHT = LONGEST_PERIOD_H + 1;

/** Start of the hour that contains `timeS`. */
export function hourOf(timeS: number): number {
  return timeS - (timeS % HOUR_S);
}

/** Number of the hour that contains `timeS`, counted from the hour that starts at `firstHourS`. */
export function hourIndex(firstHourS: number, timeS: number): number {
  return (hourOf(timeS) - firstHourS) / HOUR_S;
}

/**
 * Start of 'this hour': the hour that contains now or, until any pool (or token) has a row for it, the
 * hour before.
 * @param hasRowAt whether the dataset has a row for the hour with this start
 */
export function thisHour(nowS: number, hasRowAt: (hourS: number) => boolean): number {
  const current = hourOf(nowS);
  return hasRowAt(current) ? current : current - HOUR_S;
}

/** Start of the first of the `hours` hours that end with this hour. */
export function firstHourOf(thisHourS: number, hours: number): number {
  return thisHourS - (hours - 1) * HOUR_S;
}

/** The hours that can count now, whichever of them is 'this hour'. */
export function hoursInSight(nowS: number): { firstHourS: number; lastHourS: number } {
  const lastHourS = hourOf(nowS);
  return { firstHourS: lastHourS - LONGEST_PERIOD_H * HOUR_S, lastHourS };
}
