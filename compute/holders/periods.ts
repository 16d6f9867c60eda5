/** The windows, days and tiers of holder flow (api.md 2.8; data.md section 4, Holder flow). */

/** How many of the largest holders each tier has; ascending. */
export const TIER_SIZES = { top20: 20, top50: 50, top100: 100 } as const;
export type HolderTier = keyof typeof TIER_SIZES;
export const HOLDER_TIERS = Object.keys(TIER_SIZES) as [HolderTier, ...HolderTier[]];
/** The largest tier: more holders are never ranked. */
export const MAX_RANKED = TIER_SIZES.top100;

export const DAY_S = 86_400;

/** Seconds back from the newest snapshot. */
export const WINDOW_LENGTHS_S = {
  '1d': DAY_S,
  '7d': 7 * DAY_S,
  '14d': 14 * DAY_S,
  '30d': 30 * DAY_S,
} as const;
/** Windows of a wallet's change of balance. */
export type HolderWindow = keyof typeof WINDOW_LENGTHS_S;
export const HOLDER_WINDOWS = Object.keys(WINDOW_LENGTHS_S) as HolderWindow[];
/** Windows of the summary. */
export const SUMMARY_WINDOWS = ['1d', '7d', '30d'] as const satisfies HolderWindow[];
export type SummaryWindow = (typeof SUMMARY_WINDOWS)[number];

/** UTC days of a sparkline, the newest snapshot's the last of them. */
export const FLOW_DAYS = 30;

/** The start of the UTC day that holds a moment, both in epoch seconds. */
export function startOfDay(t: number): number {
  return t - (t % DAY_S);
}

/** Starts of the FLOW_DAYS days up to the one of the newest snapshot, ascending. */
export function flowDays(newestS: number): number[] {
  const lastS = startOfDay(newestS);
  return Array.from({ length: FLOW_DAYS }, (_, i) => lastS - (FLOW_DAYS - 1 - i) * DAY_S);
}
