/** Hour buckets of the simulated market, and what their volumes have in common. */

export const HOUR_S = 3_600;
/** Trading swells and ebbs over such a time. */
export const TURNOVER_PERIOD_S = 5 * HOUR_S;

/** The start of the hour that holds `t`. */
export function hourOf(t: number): number {
  return Math.floor(t / HOUR_S) * HOUR_S;
}

/** Part of an hour that has gone by at `t`. */
export function goneShare(hour: number, t: number): number {
  return Math.min(1, Math.max(0, (t - hour) / HOUR_S));
}
