/** One snapshot's cells as columns of their own, small enough to be kept for every token. */
import type { Market } from '../market.js';
import type { CentsColumn, SnapshotRun } from '../segment/run.js';

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

/** The buffers behind a snapshot's columns. */
export function transferablesOfCells(cells: SnapshotCells): ArrayBuffer[] {
  const columns = [cells.market, cells.bin, cells.supportCents, cells.resistanceCents];
  return columns.map((column) => column.buffer as ArrayBuffer);
}
