/** One snapshot's cells as columns of their own, small enough to be kept for every token. */
import { BIN_COUNT, MIN_BIN } from '../ladder.js';
import type { Market } from '../market.js';
import type { CentsColumn, SnapshotRun } from './run.js';
import { decodeSegment } from './segment.js';

/** One snapshot; its columns share no memory with the segment that it came from. */
export interface SnapshotCells {
  /** Epoch seconds. */
  t: number;
  priceUsd: number;
  /** Index into the token's list of markets. Sorted by market, then bin. */
  market: Uint16Array;
  bin: Int16Array;
  supportCents: CentsColumn;
  resistanceCents: CentsColumn;
}

/** Copies snapshot `row` out of a run. */
export function cellsOfRun(run: SnapshotRun, row: number): SnapshotCells {
  const from = run.cellOffsets[row];
  const to = run.cellOffsets[row + 1];
  return {
    t: run.t[row],
    priceUsd: run.priceUsd[row],
    market: run.market.slice(from, to),
    bin: run.bin.slice(from, to),
    supportCents: run.supportCents.slice(from, to),
    resistanceCents: run.resistanceCents.slice(from, to),
  };
}

/** Bytes of a snapshot's columns. */
export function bytesOfCells(cells: SnapshotCells): number {
  return (
    cells.market.byteLength +
    cells.bin.byteLength +
    cells.supportCents.byteLength +
    cells.resistanceCents.byteLength
  );
}

/** Which of a token's markets `keep` takes, by index: 1 or 0. */
export function marketMask(
  markets: readonly Market[],
  keep: (market: Market) => boolean,
): Uint8Array {
  return Uint8Array.from(markets, (market) => (keep(market) ? 1 : 0));
}

// The pool's entry point for single snapshots: what the state in memory is made of.

/** A segment's block and the rows that are wanted of it. */
export interface PickInput {
  block: Uint8Array;
  rows: readonly number[];
}

/**
 * The wanted snapshots of each segment, in the order asked for.
 * @throws Error where a block is damaged
 */
export function pickSnapshots(inputs: readonly PickInput[]): SnapshotCells[][] {
  return inputs.map(({ block, rows }) => {
    const run = decodeSegment(block);
    return rows.map((row) => cellsOfRun(run, row));
  });
}

// A snapshot's amounts by bin over some of its markets: what ladders are walked and summed on.

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
