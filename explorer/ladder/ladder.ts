/** The newest ladder: levels around the price, their sums, and their venues. */
import type { ReplayPage } from '../../client/index.js';

export interface Ladder {
  /** Time of the snapshot, epoch seconds. */
  t: number;
  priceUsd: number;
  /** By bin, ascending, without gaps between the first and the last. */
  bins: Int32Array;
  supportUsd: Float64Array;
  resistanceUsd: Float64Array;
  /** By venue, largest first, within NEAR_PCT of the price. */
  parts: LadderPart[];
}

interface LadderPart {
  key: string;
  label: string;
  supportUsd: number;
  resistanceUsd: number;
}

/** The ratio of adjacent bins' prices: docs/definitions.md#ladder. */
export const BIN_RATIO = 1.01;
/** The band around the price in which depth counts as near, as for the score. */
export const NEAR_PCT = 25;

/** The ladder of the last snapshot of a page grouped by venue; null if the page is empty. */
export function newestLadder(page: ReplayPage): Ladder | null {
  const snapshot = page.snapshots.at(-1);
  return snapshot === undefined ? null : ladderOf(page, snapshot);
}

/** The ladder of a snapshot of a page grouped by venue. */
export function ladderOf(page: ReplayPage, snapshot: ReplayPage['snapshots'][number]): Ladder {
  const first = snapshot.bin.reduce((least, bin) => Math.min(least, bin), 0);
  const last = snapshot.bin.reduce((greatest, bin) => Math.max(greatest, bin), 0);
  const length = last - first + 1;
  const [supportUsd, resistanceUsd] = [new Float64Array(length), new Float64Array(length)];
  const parts = page.groups.map(({ key, label }): LadderPart => ({
    ...{ key, label, supportUsd: 0, resistanceUsd: 0 },
  }));
  for (const [i, bin] of snapshot.bin.entries()) {
    supportUsd[bin - first] += snapshot.support_usd[i];
    resistanceUsd[bin - first] += snapshot.resistance_usd[i];
    const part = parts[snapshot.group_idx?.[i] ?? -1];
    if (part === undefined || !isWithin(bin, NEAR_PCT)) continue;
    part.supportUsd += snapshot.support_usd[i];
    part.resistanceUsd += snapshot.resistance_usd[i];
  }
  return {
    t: snapshot.t,
    priceUsd: snapshot.price_usd,
    bins: Int32Array.from({ length }, (_, i) => first + i),
    ...{ supportUsd, resistanceUsd },
    parts: parts
      .filter((part) => part.supportUsd + part.resistanceUsd > 0)
      .sort((a, b) => b.supportUsd + b.resistanceUsd - a.supportUsd - a.resistanceUsd),
  };
}

export interface DepthCurve {
  /** Distance from the price in percent, ascending. */
  pct: number[];
  /** The sum between the price and this distance; null on the other side of the price. */
  supportUsd: (number | null)[];
  resistanceUsd: (number | null)[];
}

/** Sums amounts from the price outwards, up to `reachPct` on both sides. */
export function depthCurve(ladder: Ladder, reachPct: number): DepthCurve {
  const below = side(ladder, ladder.supportUsd, -1, reachPct);
  const above = side(ladder, ladder.resistanceUsd, 1, reachPct);
  return {
    pct: [...below.map(({ pct }) => pct).reverse(), ...above.map(({ pct }) => pct)],
    supportUsd: [...below.map(({ usd }) => usd).reverse(), ...above.map(() => null)],
    resistanceUsd: [...below.map(() => null), ...above.map(({ usd }) => usd)],
  };
}

/** The edge of each bin, with the sum between it and the price. */
function side(
  { bins }: Ladder,
  amounts: Float64Array,
  sign: 1 | -1,
  reachPct: number,
): { pct: number; usd: number }[] {
  const points = [{ pct: sign * 0.0001, usd: 0 }];
  let usd = 0;
  const order = sign > 0 ? bins : bins.toReversed();
  // Bin 0 has the price in its middle, so it counts on both sides.
  for (const bin of order) {
    if (bin * sign < 0) continue;
    const pct = (BIN_RATIO ** (bin + sign / 2) - 1) * 100;
    if (Math.abs(pct) > reachPct) break;
    usd += amounts[bin - bins[0]];
    points.push({ pct, usd });
  }
  return points;
}

/** Sums within some percent of the price. */
export function totalsWithin(
  ladder: Ladder,
  pct: number,
): { supportUsd: number; resistanceUsd: number } {
  const total = (amounts: Float64Array): number =>
    amounts.reduce((sum, usd, i) => (isWithin(ladder.bins[i], pct) ? sum + usd : sum), 0);
  return { supportUsd: total(ladder.supportUsd), resistanceUsd: total(ladder.resistanceUsd) };
}

function isWithin(bin: number, pct: number): boolean {
  return Math.abs(BIN_RATIO ** bin - 1) * 100 <= pct;
}
