import type { Chain, Tier } from '../market.js';

/** Cents of a run: 32 bits where every cell fits, else doubles that hold whole cents exactly. */
export type CentsColumn = Uint32Array | Float64Array;

/** Whose snapshots a run holds. */
export interface RunKey {
  chain: Chain;
  address: string;
  tier: Tier;
}

/**
 * Snapshots of one token and tier as columns, `t` strictly ascending. Cell `i` of snapshot `s` is
 * index `cellOffsets[s] <= i < cellOffsets[s + 1]` of the four cell columns; within a snapshot cells
 * are sorted by market, then bin, and no (market, bin) stands twice.
 */
export interface SnapshotRun extends RunKey {
  /** Epoch seconds, one a snapshot. */
  t: Uint32Array;
  priceUsd: Float64Array;
  /** Snapshots + 1 entries, the first one 0. */
  cellOffsets: Int32Array;
  /** Index into the list of markets that goes with the run. */
  market: Uint16Array;
  bin: Int16Array;
  supportCents: CentsColumn;
  resistanceCents: CentsColumn;
}

/** A run of which it does not matter whose it is. */
export type RunColumns = Omit<SnapshotRun, 'chain' | 'address'>;

/** A run without snapshots. */
export function emptyRun(key: RunKey): SnapshotRun {
  return {
    ...key,
    t: new Uint32Array(0),
    priceUsd: new Float64Array(0),
    cellOffsets: new Int32Array(1),
    market: new Uint16Array(0),
    bin: new Int16Array(0),
    supportCents: new Uint32Array(0),
    resistanceCents: new Uint32Array(0),
  };
}

/** Greatest amount of cents that the narrow column holds. */
export const MAX_NARROW_CENTS = 0xffff_ffff;

/** Copies cents into the narrowest column that holds each exactly. */
export function narrowCents(cents: ArrayLike<number>, length: number): CentsColumn {
  let widest = 0;
  for (let i = 0; i < length; i++) if (cents[i] > widest) widest = cents[i];
  const column = widest > MAX_NARROW_CENTS ? new Float64Array(length) : new Uint32Array(length);
  for (let i = 0; i < length; i++) column[i] = cents[i];
  return column;
}
