/** A snapshot's amounts by bin over some of its markets: what ladders are walked and summed on. */
import { BIN_COUNT, MIN_BIN } from './ladder.js';
import type { SnapshotCells } from './snapshot-cells.js';

/** Cents by bin, index `bin - firstBin`; both columns end at the last bin that holds anything. */
export interface BinSums {
  firstBin: number;
  supportCents: Float64Array;
  resistanceCents: Float64Array;
}

/** Sums a snapshot's cells by bin; `mask` (by market index) says which markets count. */
export function binSums(cells: SnapshotCells, mask: Uint8Array): BinSums {
  const support = new Float64Array(BIN_COUNT);
  const resistance = new Float64Array(BIN_COUNT);
  let first = BIN_COUNT;
  let last = -1;
  for (let i = 0; i < cells.bin.length; i++) {
    if (mask[cells.market[i]] === 0) continue;
    const b = cells.bin[i] - MIN_BIN;
    support[b] += cells.supportCents[i];
    resistance[b] += cells.resistanceCents[i];
    if (b < first) first = b;
    if (b > last) last = b;
  }
  return {
    firstBin: (last < 0 ? 0 : first) + MIN_BIN,
    supportCents: support.slice(first, last + 1),
    resistanceCents: resistance.slice(first, last + 1),
  };
}

/** Support of the bins `first..last`, USD. */
export function supportUsdWithin(sums: BinSums, first: number, last: number): number {
  return sumWithin(sums.supportCents, sums.firstBin, first, last) / 100;
}

/** Support + resistance of the bins `first..last`, USD. */
export function depthUsdWithin(sums: BinSums, first: number, last: number): number {
  const { firstBin, supportCents, resistanceCents } = sums;
  const cents =
    sumWithin(supportCents, firstBin, first, last) +
    sumWithin(resistanceCents, firstBin, first, last);
  return cents / 100;
}

function sumWithin(cents: Float64Array, firstBin: number, first: number, last: number): number {
  let sum = 0;
  const end = Math.min(last - firstBin + 1, cents.length);
  for (let b = Math.max(first - firstBin, 0); b < end; b++) sum += cents[b];
  return sum;
}
