/** Runs: consecutive snapshots of one token and tier as columns. */
import { type Chain, type Tier, TIERS } from '../market.js';

/** Cents: 32 bits if every cell fits, otherwise doubles, which hold whole cents exactly. */
export type CentsColumn = Uint32Array | Float64Array;

/** The token and tier of a run's snapshots. */
export interface RunKey {
  chain: Chain;
  address: string;
  tier: Tier;
}

/**
 * Snapshots of one token and tier as columns, `t` strictly ascending. Snapshot `s` has the indexes
 * `cellOffsets[s] <= i < cellOffsets[s + 1]` of the four cell columns; within a snapshot cells are
 * sorted by market, then bin, and each (market, bin) occurs once.
 */
export interface SnapshotRun extends RunKey {
  /** Epoch seconds, one per snapshot. */
  t: Uint32Array;
  priceUsd: Float64Array;
  /** Snapshots + 1 entries, the first one 0. */
  cellOffsets: Int32Array;
  /** Index into the list of markets that belongs to the run. */
  market: Uint16Array;
  bin: Int16Array;
  supportCents: CentsColumn;
  resistanceCents: CentsColumn;
}

/** A run without its token. */
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

/** The most cents that a 32-bit column holds. */
export const MAX_NARROW_CENTS = 0xffff_ffff;

/** Copies cents into the narrowest column that holds each exactly. */
export function narrowCents(cents: ArrayLike<number>, length: number): CentsColumn {
  let widest = 0;
  for (let i = 0; i < length; i++) if (cents[i] > widest) widest = cents[i];
  const column = widest > MAX_NARROW_CENTS ? new Float64Array(length) : new Uint32Array(length);
  for (let i = 0; i < length; i++) column[i] = cents[i];
  return column;
}

/**
 * Memory for one run. Layout, every column at a multiple of ALIGNMENT: int32 READY, snapshots, cells, tier, 1 if support
 * is wide, 1 if resistance is wide; then the columns of RunColumns.
 */
interface RunSlice {
  memory: ArrayBufferLike;
  /** A multiple of ALIGNMENT. */
  offset: number;
  bytes: number;
}

const ALIGNMENT = 8;
const HEADER_WORDS = 6;
const READY = 1;

/** A slice of the exact size, with a copy of the run. */
export function sliceOfRun(run: RunColumns): RunSlice & { memory: ArrayBuffer } {
  const shape = shapeOf(run);
  const bytes = bytesOf(shape);
  const slice = { memory: new ArrayBuffer(bytes), offset: 0, bytes };
  writeRun(run, shape, slice);
  return slice;
}

function shapeOf(run: RunColumns): RunShape {
  const snapshots = run.t.length;
  return {
    snapshots,
    cells: run.cellOffsets[snapshots],
    tier: TIERS.indexOf(run.tier),
    wideSupport: isWide(run.supportCents),
    wideResistance: isWide(run.resistanceCents),
  };
}

function writeRun(run: RunColumns, shape: RunShape, slice: RunSlice): void {
  const { snapshots, cells } = shape;
  const columns = columnsAt(slice, shape);
  columns.t.set(run.t);
  columns.priceUsd.set(run.priceUsd);
  columns.cellOffsets.set(run.cellOffsets.subarray(0, snapshots + 1));
  columns.market.set(run.market.subarray(0, cells));
  columns.bin.set(run.bin.subarray(0, cells));
  columns.supportCents.set(run.supportCents.subarray(0, cells));
  columns.resistanceCents.set(run.resistanceCents.subarray(0, cells));
  const { tier, wideSupport, wideResistance } = shape;
  headerOf(slice).set([READY, snapshots, cells, tier, wideSupport, wideResistance]);
}

/**
 * The run in a slice; its columns are views.
 * @throws Error if it holds none
 */
export function runOfSlice(slice: RunSlice): RunColumns {
  const [state, snapshots, cells, tier, wideSupport, wideResistance] = headerOf(slice);
  if (state !== READY) throw new Error('no run in this slice');
  return columnsAt(slice, { snapshots, cells, tier, wideSupport, wideResistance });
}

/** A run's header. */
interface RunShape {
  snapshots: number;
  cells: number;
  /** Index into TIERS. */
  tier: number;
  /** 1 for 64 bits per cell, 0 for 32. */
  wideSupport: number;
  wideResistance: number;
}

function headerOf({ memory, offset }: RunSlice): Int32Array {
  return new Int32Array(memory, offset, HEADER_WORDS);
}

function isWide(cents: CentsColumn): number {
  return cents instanceof Float64Array ? 1 : 0;
}

const aligned = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

/** Bytes of each column, in order. */
function columnBytes({ snapshots, cells, wideSupport, wideResistance }: RunShape): number[] {
  const widths = [4 * snapshots, 8 * snapshots, 4 * (snapshots + 1), 2 * cells, 2 * cells];
  return [...widths, 4 * cells * (1 + wideSupport), 4 * cells * (1 + wideResistance)].map(aligned);
}

function bytesOf(shape: RunShape): number {
  return columnBytes(shape).reduce((sum, bytes) => sum + bytes, aligned(4 * HEADER_WORDS));
}

function columnsAt({ memory, offset }: RunSlice, shape: RunShape): RunColumns {
  const { snapshots, cells } = shape;
  let at = offset + aligned(4 * HEADER_WORDS);
  const starts = columnBytes(shape).map((bytes) => (at += bytes) - bytes);
  const cents = (start: number, wide: number): CentsColumn =>
    wide === 1 ? new Float64Array(memory, start, cells) : new Uint32Array(memory, start, cells);
  return {
    tier: TIERS[shape.tier],
    t: new Uint32Array(memory, starts[0], snapshots),
    priceUsd: new Float64Array(memory, starts[1], snapshots),
    cellOffsets: new Int32Array(memory, starts[2], snapshots + 1),
    market: new Uint16Array(memory, starts[3], cells),
    bin: new Int16Array(memory, starts[4], cells),
    supportCents: cents(starts[5], shape.wideSupport),
    resistanceCents: cents(starts[6], shape.wideResistance),
  };
}
