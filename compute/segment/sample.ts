/**
 * Samples: the snapshots of a segment that a series with a step of an hour or a day shows, stored apart from its block.
 * A long series reads one or two snapshots of each segment: from a sample this costs a tenth of reading the whole.
 */
import { HOUR_S, DAY_S } from '../time.js';
import { lz4Compress } from './lz4.js';
import { type CentsColumn, type RunColumns, runOfSlice, sliceOfRun } from './run.js';
import { checkedBlock, decodeSegment, type StoredBlock } from './segment.js';

/** A sample has the last snapshot of each period: the shortest of these periods that keeps the sample small enough. */
const PERIODS_S = [HOUR_S, DAY_S] as const;
/** A sample holds at most one in this many of its segment's snapshots. */
export const SNAPSHOTS_PER_SAMPLED = 8;

/** Whether samples contain the snapshots of a series with this step. */
export const isSampled = (stepS: number): boolean => stepS % PERIODS_S[0] === 0;

/** The snapshots of a segment's sample, as rows; null if it needs no sample. */
export function sampledRows(times: Uint32Array): number[] | null {
  const most = times.length / SNAPSHOTS_PER_SAMPLED;
  for (const periodS of PERIODS_S) {
    const periodOf = (row: number): number => Math.ceil(times[row] / periodS);
    const rows: number[] = [];
    for (let row = 0; row < times.length && rows.length <= most; row++) {
      if (row + 1 === times.length || periodOf(row) !== periodOf(row + 1)) rows.push(row);
    }
    if (rows.length <= most && rows.length > 0) return rows;
  }
  return null;
}

/** The sample of a segment's run; null if it needs none. */
export function encodeSample(run: RunColumns): Uint8Array | null {
  const rows = sampledRows(run.t);
  if (rows === null) return null;
  const { memory, bytes } = sliceOfRun(rowsOf(run, rows));
  return lz4Compress(new Uint8Array(memory, 0, bytes));
}

/** The samples of some segments: a task of the pool. Null for a segment that needs none, or is damaged. */
export function sampleSegments(segments: readonly StoredBlock[]): (Uint8Array | null)[] {
  return segments.map((segment) => {
    try {
      return encodeSample(decodeSegment(checkedBlock(segment)));
    } catch {
      // The damage is reported when the segment is read.
      return null;
    }
  });
}

/**
 * The snapshots of a decompressed sample; the columns are views.
 * @param plain begins at a multiple of 8 of its buffer
 * @throws Error if it holds no run
 */
export function runOfSample(plain: Uint8Array<ArrayBuffer>): RunColumns {
  return runOfSlice({ memory: plain.buffer, offset: plain.byteOffset, bytes: plain.length });
}

/** Some snapshots of a run. */
function rowsOf(run: RunColumns, rows: readonly number[]): RunColumns {
  const { cellOffsets } = run;
  const offsets = new Int32Array(rows.length + 1);
  rows.forEach((row, i) => (offsets[i + 1] = offsets[i] + cellOffsets[row + 1] - cellOffsets[row]));
  const cells = offsets[rows.length];
  const gathered = <T extends CentsColumn | Uint16Array | Int16Array>(from: T, to: T): T => {
    rows.forEach((row, i) =>
      to.set(from.subarray(cellOffsets[row], cellOffsets[row + 1]), offsets[i]),
    );
    return to;
  };
  const cents = (from: CentsColumn): CentsColumn =>
    gathered(from, from instanceof Float64Array ? new Float64Array(cells) : new Uint32Array(cells));
  return {
    tier: run.tier,
    t: Uint32Array.from(rows, (row) => run.t[row]),
    priceUsd: Float64Array.from(rows, (row) => run.priceUsd[row]),
    cellOffsets: offsets,
    market: gathered(run.market, new Uint16Array(cells)),
    bin: gathered(run.bin, new Int16Array(cells)),
    supportCents: cents(run.supportCents),
    resistanceCents: cents(run.resistanceCents),
  };
}
