/** 'This hour' and the periods that end with it (data.md section 4). */

export const HOUR_S = 3600;

/** Hours of each period of the DLMM board. */
export const PERIODS_H = { '1h': 1, '2h': 2, '4h': 4, '12h': 12, '24h': 24 } as const;
export type DlmmPeriod = keyof typeof PERIODS_H;
export const DLMM_PERIODS = Object.keys(PERIODS_H) as DlmmPeriod[];

/** The longest period: what is kept of hours, and how many lie before it is looked at. */
export const LONGEST_PERIOD_H = PERIODS_H['24h'];

/** Start of the hour bucket that contains `timeS`. */
export function hourOf(timeS: number): number {
  return timeS - (timeS % HOUR_S);
}

/**
 * Start of 'this hour': the bucket that contains now or, until any pool (or token) has a row there,
 * the one before.
 * @param hasRowAt whether any row of the dataset stands at this start of an hour
 */
export function thisHour(nowS: number, hasRowAt: (hourS: number) => boolean): number {
  const current = hourOf(nowS);
  return hasRowAt(current) ? current : current - HOUR_S;
}

/** Start of the first bucket of the period of `hours` hours that ends with this hour. */
export function firstHourOf(thisHourS: number, hours: number): number {
  return thisHourS - (hours - 1) * HOUR_S;
}

/**
 * The hours whose snapshots and rows can count at a moment, whichever hour is 'this' one: the
 * current bucket and the longest period that ends before it.
 */
export function hoursInSight(nowS: number): { firstHourS: number; lastHourS: number } {
  const lastHourS = hourOf(nowS);
  return { firstHourS: lastHourS - LONGEST_PERIOD_H * HOUR_S, lastHourS };
}
