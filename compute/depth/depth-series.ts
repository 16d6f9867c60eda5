/** Depth within percents of the price, snapshot by snapshot (docs/definitions.md#depth-series). */
import { BIN_COUNT, binsOfBand, MIN_BIN } from '../ladder.js';
import type { RunColumns } from '../segment/run.js';

/** Sums in cents: item `(group * pcts + pct) * points + point`. */
export interface DepthSums {
  supportCents: Float64Array;
  resistanceCents: Float64Array;
}

/** Adds the depth of one snapshot, as point `point`. */
export type AddSnapshot = (run: RunColumns, row: number, point: number) => void;

/**
 * Sums for a number of points, and the function that fills in a point. Sums in doubles are exact: a snapshot's
 * total is below 2^53 cents (MAX_SNAPSHOT_CENTS).
 *
 * @param slot by market: the group that its cells count for, -1 if they do not count
 * @param pct percents of the price, each in (0, 100]
 */
export function depthSums(
  slot: Int32Array,
  groupCount: number,
  pct: readonly number[],
  points: number,
): { sums: DepthSums; add: AddSnapshot } {
  const ascending = pct.map((_, p) => p).sort((a, b) => pct[a] - pct[b]);
  const { support, resistance } = narrowestOfBins(ascending.map((p) => pct[p]));
  const width = pct.length + 1;
  // By group: what lies within each percent and no narrower one; the last item is beyond all of them.
  const ownSupport = new Float64Array(groupCount * width);
  const ownResistance = new Float64Array(groupCount * width);
  const length = groupCount * pct.length * points;
  const sums = {
    supportCents: new Float64Array(length),
    resistanceCents: new Float64Array(length),
  };
  const add: AddSnapshot = (run, row, point) => {
    ownSupport.fill(0);
    ownResistance.fill(0);
    const end = run.cellOffsets[row + 1];
    for (let i = run.cellOffsets[row]; i < end; i++) {
      const group = slot[run.market[i]];
      if (group < 0) continue;
      const b = run.bin[i] - MIN_BIN;
      ownSupport[group * width + support[b]] += run.supportCents[i];
      ownResistance[group * width + resistance[b]] += run.resistanceCents[i];
    }
    for (let group = 0; group < groupCount; group++) {
      let [supportCents, resistanceCents] = [0, 0];
      ascending.forEach((p, rank) => {
        supportCents += ownSupport[group * width + rank];
        resistanceCents += ownResistance[group * width + rank];
        const at = (group * pct.length + p) * points + point;
        sums.supportCents[at] = supportCents;
        sums.resistanceCents[at] = resistanceCents;
      });
    }
  };
  return { sums, add };
}

/** By bin: index of the narrowest percent within which its support, and its resistance, lies. */
function narrowestOfBins(ascendingPct: readonly number[]) {
  const support = new Uint8Array(BIN_COUNT).fill(ascendingPct.length);
  const resistance = new Uint8Array(BIN_COUNT).fill(ascendingPct.length);
  for (let rank = ascendingPct.length - 1; rank >= 0; rank--) {
    const { first, last } = binsOfBand(-ascendingPct[rank], ascendingPct[rank]);
    support.fill(rank, Math.max(0, first - MIN_BIN));
    resistance.fill(rank, 0, Math.max(0, last - MIN_BIN + 1));
  }
  return { support, resistance };
}
