/** Which earlier moment the change of a price in 24 hours counts from. */

const DAY_S = 86_400;
/** The earlier moment is that of a quarter of an hour, so that it takes a request only so often. */
const STEP_S = 900;
/** How much older than that its snapshot may be. */
const MAX_GAP_S = 3600;

/** The last whole quarter of an hour that is at least 24 hours before a time, epoch seconds. */
export const dayBefore = (t: number): number => Math.floor((t - DAY_S) / STEP_S) * STEP_S;

/** Whether a snapshot is near enough to 24 hours before a time to count the change from. */
export const isDayBefore = (beforeT: number, t: number): boolean =>
  beforeT <= dayBefore(t) && t - beforeT <= DAY_S + MAX_GAP_S;

/**
 * Whether the change at a time can count from the answer for an earlier moment while the one for its own is on its way:
 * only as time moves on. A pinned moment further away has another base.
 */
export const canStandIn = (askedT: number, t: number): boolean =>
  askedT <= dayBefore(t) && dayBefore(t) - askedT <= STEP_S;
