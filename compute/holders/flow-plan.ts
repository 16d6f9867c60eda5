/**
 * The windows, days and tiers of holder flow (docs/definitions.md#holder-flow), and the snapshots that
 * a token's flow needs.
 */
import { recordOf } from '../collections.js';
import { firstIndex } from '../search.js';
import { DAY_S } from '../time.js';

/** Number of largest holders in each tier, ascending. */
export const TIER_SIZES = { top20: 20, top50: 50, top100: 100 } as const;
export type HolderTier = keyof typeof TIER_SIZES;
export const HOLDER_TIERS = Object.keys(TIER_SIZES) as [HolderTier, ...HolderTier[]];
/** How many holders are ranked: as many as the largest tier has. */
export const MAX_RANKED = TIER_SIZES.top100;

/** Seconds back from the newest snapshot. */
const WINDOW_LENGTHS_S = {
  '1d': DAY_S,
  '7d': 7 * DAY_S,
  '14d': 14 * DAY_S,
  '30d': 30 * DAY_S,
} as const;
/** Windows of a wallet's balance changes. */
export type HolderWindow = keyof typeof WINDOW_LENGTHS_S;
export const HOLDER_WINDOWS = Object.keys(WINDOW_LENGTHS_S) as HolderWindow[];
/** Windows of the summary. */
export const SUMMARY_WINDOWS = ['1d', '7d', '30d'] as const satisfies HolderWindow[];
export type SummaryWindow = (typeof SUMMARY_WINDOWS)[number];

/** UTC days of a sparkline; the last one is the newest snapshot's. */
export const FLOW_DAYS = 30;

/** Starts of the FLOW_DAYS UTC days up to the newest snapshot's, ascending, epoch seconds. */
export function flowDays(newestS: number): number[] {
  const lastS = newestS - (newestS % DAY_S);
  return Array.from({ length: FLOW_DAYS }, (_, i) => lastS - (FLOW_DAYS - 1 - i) * DAY_S);
}

/** Times of the snapshots that a flow needs, epoch seconds; null if there is none. */
export interface FlowPlan {
  newestS: number;
  /** The newest snapshot at or before `newestS` less the window. */
  bases: Record<HolderWindow, number | null>;
  /** In the order of flowDays(newestS). */
  days: DayPlan[];
}

export interface DayPlan {
  /** The last snapshot of the day. */
  lastS: number | null;
  /** The last snapshot of any earlier day. */
  earlierS: number | null;
}

/**
 * Chooses the stored snapshots for the flow at a moment: at most one per window, one per day, and one
 * before all days.
 * @param times of the stored snapshots, ascending
 * @param nowS later snapshots are not visible
 * @returns null if none is visible
 */
export function flowPlan(times: Uint32Array, nowS: number): FlowPlan | null {
  const newestS = newestBy(times, nowS);
  if (newestS === null) return null;
  const bases = recordOf(HOLDER_WINDOWS, (window) =>
    newestBy(times, newestS - WINDOW_LENGTHS_S[window]),
  );
  const days = flowDays(newestS).map((startS): DayPlan => {
    const lastS = newestBy(times, Math.min(startS + DAY_S - 1, newestS));
    return {
      lastS: lastS !== null && lastS >= startS ? lastS : null,
      earlierS: newestBy(times, startS - 1),
    };
  });
  return { newestS, bases, days };
}

/** The times of all snapshots of a plan, ascending, without duplicates. */
export function neededTimes({ newestS, bases, days }: FlowPlan): number[] {
  const times = [newestS, ...Object.values(bases)];
  for (const { lastS, earlierS } of days) {
    // A day without a snapshot needs no earlier one either.
    if (lastS !== null) times.push(lastS, earlierS);
  }
  return [...new Set(times.filter((t) => t !== null))].sort((a, b) => a - b);
}

/** When the next stored snapshot becomes visible; null: never. */
export function nextVisibleS(times: Uint32Array, nowS: number): number | null {
  return times[countBy(times, nowS)] ?? null;
}

function newestBy(times: Uint32Array, atS: number): number | null {
  const count = countBy(times, atS);
  return count === 0 ? null : times[count - 1];
}

/** Number of the ascending times at or before a moment. */
function countBy(times: Uint32Array, atS: number): number {
  return firstIndex(0, times.length, (i) => times[i] > atS);
}
