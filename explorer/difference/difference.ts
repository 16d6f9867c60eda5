/** What has changed between two ladders of a token. */
import { binsWithin, type Ladder, NEAR_PCT, totalsWithin } from '../ladder/ladder.js';

/** Distances from the price within which depth is compared, in percent. */
export const WITHIN_PCTS = [2, 5, 10, NEAR_PCT] as const;

/** An amount of each moment. */
export interface Change {
  fromUsd: number;
  toUsd: number;
}

export interface Difference {
  price: Change;
  within: { pct: number; support: Change; resistance: Change }[];
  /** How each 1% step has changed, by its distance from the price of its moment, within NEAR_PCT. */
  steps: { bin: number; supportUsd: number; resistanceUsd: number }[];
}

/** @param to the moment that the page shows, later or earlier */
export function differenceOf(from: Ladder, to: Ladder): Difference {
  const within = WITHIN_PCTS.map((pct) => {
    const [before, after] = [totalsWithin(from, pct), totalsWithin(to, pct)];
    return {
      pct,
      support: { fromUsd: before.supportUsd, toUsd: after.supportUsd },
      resistance: { fromUsd: before.resistanceUsd, toUsd: after.resistanceUsd },
    };
  });
  const { first, last } = binsWithin(NEAR_PCT);
  const steps = Array.from({ length: last - first + 1 }, (_, i) => {
    const bin = first + i;
    return {
      bin,
      supportUsd: amountAt(to, 'supportUsd', bin) - amountAt(from, 'supportUsd', bin),
      resistanceUsd: amountAt(to, 'resistanceUsd', bin) - amountAt(from, 'resistanceUsd', bin),
    };
  });
  return { price: { fromUsd: from.priceUsd, toUsd: to.priceUsd }, within, steps };
}

/** The share by which an amount has changed; null from nothing. */
export const shareOf = ({ fromUsd, toUsd }: Change): number | null =>
  fromUsd === 0 ? null : toUsd / fromUsd - 1;

function amountAt(ladder: Ladder, side: 'supportUsd' | 'resistanceUsd', bin: number): number {
  return ladder[side][bin - ladder.bins[0]] ?? 0;
}
