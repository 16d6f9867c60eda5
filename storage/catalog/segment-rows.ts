/** Segments' entries as they are stored: one in a row of columns, or many packed into one value. */
import { TIERS, type Tier } from '../../compute/market/market.js';
import type { SqlRow } from '../duckdb/database.js';
import type { SegmentRef } from './directory.js';

/** Words of a packed entry before its times: id (low, high), cells, snapshots. */
const HEAD_WORDS = 4;
const WORD_BYTES = 4;
const TWO_32 = 2 ** 32;

/** An entry from columns segment_id, tier, cells, times, band_cells. */
export function refOfColumns([segmentId, tier, cells, times, bandCells]: SqlRow): SegmentRef {
  return {
    segmentId: segmentId as number,
    tier: TIERS[tier as number],
    cells: cells as number,
    times: uint32Of(times as Uint8Array),
    bandCells: uint32Of(bandCells as Uint8Array),
  };
}

/** Bytes of an entry among others. */
export function packedBytes({ times }: SegmentRef): number {
  return WORD_BYTES * (HEAD_WORDS + 2 * times.length);
}

/** Entries of one tier as 32-bit words: each its head, its times, its cells in the default band. */
export function packRefs(refs: readonly SegmentRef[]): Uint8Array {
  const words = new Uint32Array(refs.reduce((sum, ref) => sum + packedBytes(ref), 0) / WORD_BYTES);
  let at = 0;
  for (const { segmentId, cells, times, bandCells } of refs) {
    words.set([segmentId % TWO_32, Math.floor(segmentId / TWO_32), cells, times.length], at);
    words.set(times, at + HEAD_WORDS);
    words.set(bandCells, at + HEAD_WORDS + times.length);
    at += HEAD_WORDS + 2 * times.length;
  }
  return new Uint8Array(words.buffer);
}

/** What packRefs() packed; the columns are views of one copy. @throws Error where it was cut */
export function unpackRefs(tier: Tier, bytes: Uint8Array): SegmentRef[] {
  const words = uint32Of(bytes);
  const refs: SegmentRef[] = [];
  for (let at = 0; at < words.length;) {
    const [low, high, cells, snapshots] = words.subarray(at, at + HEAD_WORDS);
    const from = at + HEAD_WORDS;
    at = from + 2 * snapshots;
    if (!(at <= words.length)) throw new Error('a list of segments is damaged');
    const times = words.subarray(from, from + snapshots);
    const bandCells = words.subarray(from + snapshots, at);
    refs.push({ segmentId: low + high * TWO_32, tier, cells, times, bandCells });
  }
  return refs;
}

function uint32Of(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.slice().buffer);
}
