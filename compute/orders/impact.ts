/** How far a flow of orders would move the price (docs/definitions.md#price-impact). */
import { binFactor } from '../ladder.js';
import type { BinSums } from '../segment/snapshots.js';

/**
 * `net_pct`: how far, in percent, a net flow of `netUsd` would move the price on a ladder. Buying
 * (positive) uses up resistance from the lowest bin upward, selling (negative) support from the
 * highest downward; the price stops inside the bin where the flow ends, at the last bin's far edge
 * where the ladder ends first, and never moves against the flow.
 * @param ladder null: there is no depth at all
 * @returns 0 without a flow, else null without depth on the side that it uses up
 */
export function impactPct(ladder: BinSums | null, netUsd: number): number | null {
  if (netUsd === 0) return 0;
  if (ladder === null) return null;
  const bin = netUsd > 0 ? binUpward(ladder, netUsd) : binDownward(ladder, -netUsd);
  return bin === null ? null : 100 * (binFactor(bin) - 1);
}

/**
 * Whole cents, so that the quotient is the double nearest to them in USD: a flow of just so much, as a
 * row writes it, is reached.
 */
const reaches = (cents: number, netUsd: number): boolean => cents / 100 >= netUsd;

/** The share of a bin's amount that a flow which ends in it uses up. */
const shareOf = (amount: number, used: number, netUsd: number): number =>
  Math.min(1, (netUsd * 100 - used) / amount);

/** Where the price stands after buying for `netUsd`, in bins; null without any resistance. */
function binUpward({ firstBin, resistanceCents }: BinSums, netUsd: number): number | null {
  let used = 0;
  let stand: number | null = null;
  for (let i = 0; i < resistanceCents.length; i++) {
    const amount = resistanceCents[i];
    if (amount === 0) continue;
    if (reaches(used + amount, netUsd)) {
      stand = firstBin + i - 0.5 + shareOf(amount, used, netUsd);
      break;
    }
    used += amount;
    stand = firstBin + i + 0.5;
  }
  return stand === null ? null : Math.max(stand, 0);
}

/** Where the price stands after selling for `netUsd`, in bins; null without any support. */
function binDownward({ firstBin, supportCents }: BinSums, netUsd: number): number | null {
  let used = 0;
  let stand: number | null = null;
  for (let i = supportCents.length - 1; i >= 0; i--) {
    const amount = supportCents[i];
    if (amount === 0) continue;
    if (reaches(used + amount, netUsd)) {
      stand = firstBin + i + 0.5 - shareOf(amount, used, netUsd);
      break;
    }
    used += amount;
    stand = firstBin + i - 0.5;
  }
  return stand === null ? null : Math.min(stand, 0);
}
