/** The move of the price that a flow of orders would cause (data.md section 4, DCA). */
import { binFactor } from '../ladder/ladder.js';
import type { BinSums } from '../ladder/bin-sums.js';

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
  const bin = netUsd > 0 ? binUpward(ladder, netUsd * 100) : binDownward(ladder, netUsd * -100);
  return bin === null ? null : 100 * (binFactor(bin) - 1);
}

/** Where the price stands after buying for `netCents`, in bins; null without any resistance. */
function binUpward({ firstBin, resistanceCents }: BinSums, netCents: number): number | null {
  let used = 0;
  let stand: number | null = null;
  for (let i = 0; i < resistanceCents.length; i++) {
    const amount = resistanceCents[i];
    if (amount === 0) continue;
    if (used + amount >= netCents) {
      stand = firstBin + i - 0.5 + (netCents - used) / amount;
      break;
    }
    used += amount;
    stand = firstBin + i + 0.5;
  }
  return stand === null ? null : Math.max(stand, 0);
}

/** Where the price stands after selling for `netCents`, in bins; null without any support. */
function binDownward({ firstBin, supportCents }: BinSums, netCents: number): number | null {
  let used = 0;
  let stand: number | null = null;
  for (let i = supportCents.length - 1; i >= 0; i--) {
    const amount = supportCents[i];
    if (amount === 0) continue;
    if (used + amount >= netCents) {
      stand = firstBin + i + 0.5 - (netCents - used) / amount;
      break;
    }
    used += amount;
    stand = firstBin + i - 0.5;
  }
  return stand === null ? null : Math.min(stand, 0);
}
