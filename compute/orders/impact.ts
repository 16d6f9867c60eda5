/** Price impact of a flow of orders (docs/definitions.md#price-impact). */
import { binFactor } from '../ladder.js';
import type { BinSums } from '../segment/snapshots.js';

/**
 * `net_pct`: how far, in percent, a net flow of `netUsd` moves the price on a ladder. Buying (positive)
 * uses up resistance from the lowest bin upward, selling (negative) support from the highest bin
 * downward. The price stops inside the bin where the flow ends, or at the far edge of the last bin if
 * the ladder ends first, and never moves against the flow.
 * @param ladder null if there is no depth
 * @returns 0 without a flow; otherwise null if there is no depth on the side that the flow uses up
 */
export function impactPct(ladder: BinSums | null, netUsd: number): number | null {
  if (netUsd === 0) return 0;
  if (ladder === null) return null;
  const bin = netUsd > 0 ? binUpward(ladder, netUsd) : binDownward(ladder, -netUsd);
  return bin === null ? null : 100 * (binFactor(bin) - 1);
}

/** Cents are whole, so the quotient is the nearest double in USD, and reaches an equal flow. */
const reaches = (cents: number, netUsd: number): boolean => cents / 100 >= netUsd;

/** How much of a bin a flow uses up that ends in it. */
const shareOf = (amount: number, used: number, netUsd: number): number =>
  Math.min(1, (netUsd * 100 - used) / amount);

/** The price after buying for `netUsd`, in bins; null without resistance. */
function binUpward({ firstBin, resistanceCents }: BinSums, netUsd: number): number | null {
  let used = 0;
  let position: number | null = null;
  for (let i = 0; i < resistanceCents.length; i++) {
    const amount = resistanceCents[i];
    if (amount === 0) continue;
    if (reaches(used + amount, netUsd)) {
      position = firstBin + i - 0.5 + shareOf(amount, used, netUsd);
      break;
    }
    used += amount;
    position = firstBin + i + 0.5;
  }
  return position === null ? null : Math.max(position, 0);
}

/** The price after selling for `netUsd`, in bins; null without support. */
function binDownward({ firstBin, supportCents }: BinSums, netUsd: number): number | null {
  let used = 0;
  let position: number | null = null;
  for (let i = supportCents.length - 1; i >= 0; i--) {
    const amount = supportCents[i];
    if (amount === 0) continue;
    if (reaches(used + amount, netUsd)) {
      position = firstBin + i + 0.5 - shareOf(amount, used, netUsd);
      break;
    }
    used += amount;
    position = firstBin + i - 0.5;
  }
  return position === null ? null : Math.min(position, 0);
}
