/** From which earlier snapshot the change of a price in 24 hours counts. */
import type { ReplayPage } from '../../client/index.js';

const DAY_S = 86_400;
/** One request serves so many moments, as time moves on. */
const STEP_S = 900;
/** How much older than 24 hours the earlier snapshot may be. */
const MAX_GAP_S = 3600;

/** Snapshots around 24 hours before a moment. */
export interface DayAgo {
  /** Epoch seconds; `to` is exclusive. */
  from: number;
  to: number;
  snapshots: readonly Pick<ReplayPage['snapshots'][number], 't' | 'price_usd'>[];
}

/** The window with the earlier snapshot of a moment, and of those in the quarter of an hour after it. @param t epoch seconds */
export function dayAgoWindow(t: number): Pick<DayAgo, 'from' | 'to'> {
  const step = Math.floor((t - DAY_S) / STEP_S) * STEP_S;
  // It lasts a step longer than needed, so the next one has that long to arrive.
  return { from: step - MAX_GAP_S, to: step + 2 * STEP_S };
}

/** Whether a window tells the earlier snapshot of a moment, or that there is none. */
export const tells = ({ from, to }: Pick<DayAgo, 'from' | 'to'>, t: number): boolean =>
  from <= t - DAY_S - MAX_GAP_S && t - DAY_S < to;

/** The newest snapshot at least 24 hours before a moment; null if that one is too old. */
export function dayBefore({ snapshots }: DayAgo, t: number): DayAgo['snapshots'][number] | null {
  const before = snapshots.findLast((one) => one.t <= t - DAY_S);
  return before !== undefined && before.t >= t - DAY_S - MAX_GAP_S ? before : null;
}
