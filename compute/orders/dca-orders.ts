/** DCA orders, which trade a fixed amount every cycle (docs/definitions.md#dca-cycles). */

export const DIRECTIONS = ['BUY', 'SELL'] as const;
export type Direction = (typeof DIRECTIONS)[number];

/** A row of dataset `dca_orders` that is active: not closed, and `remainingUsd > 0`. */
export interface DcaOrder {
  dcaAddress: string;
  /** A mint: DCA orders are mainchain's. */
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
  /** Prices between which the order is active, both included; null: open. */
  minUsd: number | null;
  maxUsd: number | null;
}

/** The timeframes of flow projections, shortest first: the suffixes of the API's fields. */
export const TIMEFRAMES = ['5_min', '30_min', '1_hr', '6_hr', '24_hr'] as const;
export type Timeframe = (typeof TIMEFRAMES)[number];

/** Seconds ahead that each of TIMEFRAMES looks, in their order. */
export const HORIZONS_S = [300, 1_800, 3_600, 21_600, 86_400] as const;

/** Cycles beyond which a count is no longer exact. */
const MAX_CYCLES = Number.MAX_SAFE_INTEGER;

/**
 * How many k >= 0 have `k * cycleFrequencyS <= sinceFirstS`: cycles up to a moment that lies
 * `sinceFirstS` seconds after the first one (negative: before it).
 *
 * Division of whole numbers below 2^53 never rounds up to the next whole one, so the floor of the
 * quotient is exact for whole seconds, however far back or ahead the first cycle lies. More than
 * MAX_CYCLES are not told apart: no order has that many.
 */
export function cyclesBy(sinceFirstS: number, cycleFrequencyS: number): number {
  if (sinceFirstS < 0) return 0;
  // For fractions of a second the quotient may be rounded: the product decides.
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

/**
 * `min <= current price <= max`, an open end holding any price. A token without a price has no
 * order in range: nothing says that the order would trade.
 */
export function isInRange(
  { minUsd, maxUsd }: Pick<DcaOrder, 'minUsd' | 'maxUsd'>,
  priceUsd: number | null,
): boolean {
  if (priceUsd === null) return false;
  return (minUsd === null || minUsd <= priceUsd) && (maxUsd === null || priceUsd <= maxUsd);
}

/** The fields of an order that its flow follows from. */
type FlowingOrder = Pick<
  DcaOrder,
  'remainingUsd' | 'cycleUsd' | 'cycleFrequencyS' | 'nextCycleAtS' | 'minUsd' | 'maxUsd'
>;

/**
 * USD that an order trades in `(nowS, nowS + horizonS]` at `priceUsd`, the token's current price:
 * `min(remaining, cycle * cycles)`, 0 where the price is out of the order's range.
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

/** `usdNext` of every one of TIMEFRAMES, in their order. */
export function usdNextByTimeframe(
  order: FlowingOrder,
  priceUsd: number | null,
  nowS: number,
): number[] {
  return HORIZONS_S.map((horizonS) => usdNext(order, priceUsd, nowS, horizonS));
}
