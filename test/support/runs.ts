/** Runs of snapshots and directories of segments, made from plain lists. */
import { type Tier } from '../../compute/market.js';
import { narrowCents, type RunKey, type SnapshotRun } from '../../compute/segment/run.js';
import { byTier, type Directory, type SegmentRef } from '../../storage/depth/directory.js';

export const MINT = 'So11111111111111111111111111111111111111112';

/** A snapshot; cells as `[market, bin, cents of support, cents of resistance]`, in the order of a run. */
export interface SnapshotOfCells {
  t: number;
  price: number;
  cells: readonly (readonly number[])[];
}

/** One tier's snapshots as columns; by default raw ones of MINT. */
export function runOfCells(
  snapshots: readonly SnapshotOfCells[],
  key: Partial<RunKey> = {},
): SnapshotRun {
  const cells = snapshots.flatMap((snapshot) => snapshot.cells);
  const column = (i: number) => cells.map((cell) => cell[i]);
  const cellOffsets = new Int32Array(snapshots.length + 1);
  snapshots.forEach((s, i) => (cellOffsets[i + 1] = cellOffsets[i] + s.cells.length));
  return {
    chain: 'mainchain',
    address: MINT,
    tier: 'raw',
    ...key,
    t: Uint32Array.from(snapshots, ({ t }) => t),
    priceUsd: Float64Array.from(snapshots, ({ price }) => price),
    cellOffsets,
    market: Uint16Array.from(column(0)),
    bin: Int16Array.from(column(1)),
    supportCents: narrowCents(column(2), cells.length),
    resistanceCents: narrowCents(column(3), cells.length),
  };
}

/** The entry of a segment with a cell in each snapshot. */
export function segmentRef(
  segmentId: number,
  times: Iterable<number>,
  more: Partial<SegmentRef> = {},
): SegmentRef {
  const own = Uint32Array.from(times);
  const [bandCells, digests] = [own.map((t) => t % 7), own.map((t) => t % 5)];
  const ref = {
    segmentId,
    tier: 'raw',
    cells: own.length,
    times: own,
    bandCells,
    digests,
    isArchived: false,
  } as const;
  return { ...ref, ...more };
}

/** A directory of these snapshots, in segments of at most so many of them. */
export function directoryOfTimes(
  all: readonly { tier: Tier; t: number }[],
  perSegment: number | Readonly<Record<Tier, number>>,
): Directory {
  let segmentId = 0;
  return byTier((tier) => {
    const times = all.filter((one) => one.tier === tier).map(({ t }) => t);
    times.sort((a, b) => a - b);
    const most = typeof perSegment === 'number' ? perSegment : perSegment[tier];
    const parts = Array.from({ length: Math.ceil(times.length / most) }, (_, i) =>
      times.slice(i * most, (i + 1) * most),
    );
    return parts.map((part) => segmentRef(++segmentId, part, { tier }));
  });
}
