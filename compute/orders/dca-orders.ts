/** DCA orders, which trade a fixed amount every cycle (docs/definitions.md#dca-cycles). */

export const DIRECTIONS = ['BUY', 'SELL'] as const;
export type Direction = (typeof DIRECTIONS)[number];

/** An active row of dataset `dca_orders`: not closed, and `remainingUsd > 0`. */
export interface DcaOrder {
  dcaAddress: string;
  /** A mint: DCA orders exist only on mainchain. */
  tokenAddress: string;
  direction: Direction;
  pairedSymbol: string;
  depositedUsd: number;
  remainingUsd: number;
  cycleUsd: number;
  /** Seconds between two cycles, > 0. */
  cycleFrequencyS: number;
  /** Epoch seconds of the first cycle that counts; it may lie in the past. */
  nextCycleAtS: number;
  /** Prices between which the order is active, inclusive; null: no bound. */
  minUsd: number | null;
  maxUsd: number | null;
}

/** Timeframes of flow projections, shortest first: suffixes of the API's fields. */
export const TIMEFRAMES = ['5_min', '30_min', '1_hr', '6_hr', '24_hr'] as const;
export type Timeframe = (typeof TIMEFRAMES)[number];

/** Lengths of the TIMEFRAMES, seconds. */
export const HORIZONS_S = [300, 1_800, 3_600, 21_600, 86_400] as const;

/** Greatest count of cycles: larger counts are not exact. */
const MAX_CYCLES = Number.MAX_SAFE_INTEGER;

/**
 * How many k >= 0 have `k * cycleFrequencyS <= sinceFirstS`: the cycles up to a moment `sinceFirstS`
 * seconds after the first one (negative: before it), at most MAX_CYCLES.
 *
 * Division of whole numbers below 2^53 never rounds up to the next whole number, so the floor of the
 * quotient is exact for whole seconds.
 */
export function cyclesBy(sinceFirstS: number, cycleFrequencyS: number): number {
  if (sinceFirstS < 0) return 0;
  // With fractions of a second the quotient may be rounded, so the product decides.
  let last = Math.floor(sinceFirstS / cycleFrequencyS);
  if (last * cycleFrequencyS > sinceFirstS) last--;
  else if ((last + 1) * cycleFrequencyS <= sinceFirstS) last++;
  return Math.min(last + 1, MAX_CYCLES);
}

/** How many k >= 0 have `nextCycleAtS + k * cycleFrequencyS` in `(nowS, nowS + horizonS]`. */
export function cyclesWithin(
  { nextCycleAtS, cycleFrequencyS }: Pick<DcaOrder, 'nextCycleAtS' | 'cycleFrequencyS'>,
  nowS: number,
  horizonS: number,
): number {
  const sinceFirstS = nowS - nextCycleAtS;
  return cyclesBy(sinceFirstS + horizonS, cycleFrequencyS) - cyclesBy(sinceFirstS, cycleFrequencyS);
}

/** `min <= current price <= max`; null is no bound. Without a price no order is in range. */
export function isInRange(
  { minUsd, maxUsd }: Pick<DcaOrder, 'minUsd' | 'maxUsd'>,
  priceUsd: number | null,
): boolean {
  if (priceUsd === null) return false;
  return (minUsd === null || minUsd <= priceUsd) && (maxUsd === null || priceUsd <= maxUsd);
}

/** The fields that determine an order's flow. */
type FlowingOrder = Pick<
  DcaOrder,
  'remainingUsd' | 'cycleUsd' | 'cycleFrequencyS' | 'nextCycleAtS' | 'minUsd' | 'maxUsd'
>;

/**
 * USD that an order trades in `(nowS, nowS + horizonS]` at `priceUsd`, the token's current price:
 * `min(remaining, cycle * cycles)`, or 0 if the price is outside the order's range.
 */
export function usdNext(
  order: FlowingOrder,
  priceUsd: number | null,
  nowS: number,
  horizonS: number,
): number {
  if (!isInRange(order, priceUsd)) return 0;
  return Math.min(order.remainingUsd, order.cycleUsd * cyclesWithin(order, nowS, horizonS));
}

/** `usdNext` for each of TIMEFRAMES. */
export function usdNextByTimeframe(
  order: FlowingOrder,
  priceUsd: number | null,
  nowS: number,
): number[] {
  return HORIZONS_S.map((horizonS) => usdNext(order, priceUsd, nowS, horizonS));
}
