/** Single snapshots, small enough to keep every token's newest one in memory, and their sums by bin. */
import { BIN_COUNT, type BinRange, MIN_BIN } from '../ladder.js';
import type { Market } from '../market.js';
import type { CentsColumn, SnapshotRun } from './run.js';
import { decodeSegment } from './segment.js';

/** One snapshot; its columns share no memory with its segment. */
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

/** Copies snapshot `row` out of a run, all columns into one buffer: each further buffer costs garbage collection. */
export function cellsOfRun(run: SnapshotRun, row: number): SnapshotCells {
  const from = run.cellOffsets[row];
  const to = run.cellOffsets[row + 1];
  const { market, bin, supportCents, resistanceCents } = run;
  const bytes = [market, bin, supportCents, resistanceCents].map((column) =>
    aligned(column.BYTES_PER_ELEMENT * (to - from)),
  );
  const buffer = new ArrayBuffer(bytes.reduce((sum, each) => sum + each));
  let at = 0;
  const copy = <C extends CentsColumn | Uint16Array | Int16Array>(column: C): C => {
    const Column = column.constructor as new (buffer: ArrayBuffer, at: number, length: number) => C;
    const copied = new Column(buffer, at, to - from);
    copied.set(column.subarray(from, to));
    at += aligned(copied.byteLength);
    return copied;
  };
  return {
    t: run.t[row],
    priceUsd: run.priceUsd[row],
    market: copy(market),
    bin: copy(bin),
    supportCents: copy(supportCents),
    resistanceCents: copy(resistanceCents),
  };
}

/** Where a column may begin: at a multiple of the widest element. */
function aligned(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
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

/** By market: 1 if `keep` is true, otherwise 0. */
export function marketMask(
  markets: readonly Market[],
  keep: (market: Market) => boolean,
): Uint8Array {
  return Uint8Array.from(markets, (market) => (keep(market) ? 1 : 0));
}

/** A segment's block and the rows to copy from it. */
interface PickInput {
  block: Uint8Array;
  rows: readonly number[];
}

/**
 * The chosen snapshots of each segment, in the order of `rows`: a task of the pool.
 * @throws Error if a block is damaged
 */
export function pickSnapshots(inputs: readonly PickInput[]): SnapshotCells[][] {
  return inputs.map(({ block, rows }) => {
    const run = decodeSegment(block);
    return rows.map((row) => cellsOfRun(run, row));
  });
}

/** Cents by bin, index `bin - firstBin`; both columns end at the last bin with a cell. */
export interface BinSums {
  firstBin: number;
  supportCents: Float64Array;
  resistanceCents: Float64Array;
}

/** Sums of all bins while a snapshot is being summed; zeros at other times. */
const support = new Float64Array(BIN_COUNT);
const resistance = new Float64Array(BIN_COUNT);

/**
 * Sums a snapshot's cells by bin; `mask` (by market index) tells which markets count. It is called for every token, so
 * it makes one buffer for both columns: while V8 collects garbage, each new buffer costs milliseconds of marking.
 */
export function binSums(cells: SnapshotCells, mask: Uint8Array): BinSums {
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
  const bins = Math.max(0, last + 1 - first);
  const sums = new Float64Array(2 * bins);
  sums.set(support.subarray(first, last + 1));
  sums.set(resistance.subarray(first, last + 1), bins);
  support.fill(0, first, last + 1);
  resistance.fill(0, first, last + 1);
  return {
    firstBin: (last < 0 ? 0 : first) + MIN_BIN,
    supportCents: sums.subarray(0, bins),
    resistanceCents: sums.subarray(bins),
  };
}

/** Support of a snapshot's cells in the bins `first..last`, USD; `mask` as for binSums(). */
export function supportUsdWithin(
  cells: SnapshotCells,
  mask: Uint8Array,
  first: number,
  last: number,
): number {
  let cents = 0;
  for (let i = 0; i < cells.bin.length; i++) {
    const bin = cells.bin[i];
    if (bin < first || bin > last || mask[cells.market[i]] === 0) continue;
    cents += cells.supportCents[i];
  }
  return cents / 100;
}

/** Amounts near the price, in cents. */
export interface NearCents {
  support: number;
  resistance: number;
}

/** Support in the bins from `first` on, and resistance in those up to `last`; `mask` as for binSums(). */
export function centsNear(
  cells: SnapshotCells,
  mask: Uint8Array,
  { first, last }: BinRange,
): NearCents {
  let [support, resistance] = [0, 0];
  for (let i = 0; i < cells.bin.length; i++) {
    if (mask[cells.market[i]] === 0) continue;
    if (cells.bin[i] >= first) support += cells.supportCents[i];
    if (cells.bin[i] <= last) resistance += cells.resistanceCents[i];
  }
  return { support, resistance };
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
