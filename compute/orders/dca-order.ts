/** A DCA order: buys or sells a fixed amount every so often (data.md sections 3 and 4). */

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
