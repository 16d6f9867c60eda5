/** Segments' entries as they are stored: one in a row of columns, or many packed into one value. */
import { TIERS, type Tier } from '../../compute/market.js';
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
  return Array.from(entriesOf(words), (at) => refAt(words, at, tier));
}

/**
 * Of what packRefs() packed, ascending in time, the entries that are last to begin by one of the
 * moments, and those that follow them.
 */
export function unpackRefsAround(
  tier: Tier,
  bytes: Uint8Array,
  momentsS: readonly number[],
): SegmentRef[] {
  const words = uint32Of(bytes);
  const entries = entriesOf(words);
  const wanted = new Set<number>();
  for (const momentS of momentsS) {
    const after = entries.findIndex((at) => words[at + HEAD_WORDS] > momentS);
    const next = after === -1 ? entries.length : after;
    for (const i of [next - 1, next]) if (i >= 0 && i < entries.length) wanted.add(entries[i]);
  }
  return Array.from(wanted, (at) => refAt(words, at, tier));
}

/** Where the entries begin. */
function entriesOf(words: Uint32Array): number[] {
  const entries: number[] = [];
  let at = 0;
  for (; at < words.length; at += HEAD_WORDS + 2 * words[at + HEAD_WORDS - 1]) entries.push(at);
  if (at !== words.length) throw new Error('a list of segments is damaged');
  return entries;
}

function refAt(words: Uint32Array, at: number, tier: Tier): SegmentRef {
  const snapshots = words[at + HEAD_WORDS - 1];
  const from = at + HEAD_WORDS;
  return {
    segmentId: words[at] + words[at + 1] * TWO_32,
    tier,
    cells: words[at + 2],
    times: words.subarray(from, from + snapshots),
    bandCells: words.subarray(from + snapshots, from + 2 * snapshots),
  };
}

function uint32Of(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.slice().buffer);
}
