/** Windows of snapshots in the archive: what an entry of the log says of an object, and how it is compared with the store. */
import { createHash } from 'node:crypto';
import type { Tier } from '../../compute/market.js';
import { firstFrom } from '../../compute/search.js';
import type { TokenName } from '../contract.js';
import { overlapping, type SegmentRef, type TierDirectory } from '../depth/directory.js';
import { bytesOf } from '../typed-arrays.js';

/** Snapshots `fromS <= t < toS` of a token and tier, all of one UTC day. */
export interface ArchiveWindow {
  token: TokenName;
  tier: Tier;
  fromS: number;
  toS: number;
}

/** Of a segment in an object, what the directory does not say. */
export interface SegmentOfObject {
  snapshots: number;
  cells: number;
  at: number;
  bytes: number;
  crc32: number;
  /** The bytes of EncodedSegment's marketRows. */
  marketRows: Uint8Array;
  /** What long series show of it; null: the segment itself. In the entry, so that no node reads the object to make it. */
  sample: Uint8Array | null;
}

/** An object, and the window whose snapshots are in it. */
export interface ArchivedDay extends ArchiveWindow {
  /** Below the archive's prefix. */
  key: string;
  /** Of the object, hexadecimal. */
  sha256: string;
  bytes: number;
  /** Of the window's snapshots, by digestOfWindow(): a store that has others refuses the object. */
  digest: Uint8Array;
  segments: readonly SegmentOfObject[];
}

/** Times, cells in the default band and digests of snapshots. */
export type SnapshotColumns = Pick<SegmentRef, 'times' | 'bandCells' | 'digests'>;

/** The columns of the snapshots `fromS <= t < toS` of a tier. */
export function columnsOfWindow(
  segments: TierDirectory,
  { fromS, toS }: Pick<ArchiveWindow, 'fromS' | 'toS'>,
): SnapshotColumns {
  const { from, to } = overlapping(segments, fromS, toS - 1);
  const parts = segments.slice(from, to).map((ref) => {
    const [first, end] = [firstFrom(ref.times, fromS), firstFrom(ref.times, toS)];
    return {
      times: ref.times.subarray(first, end),
      bandCells: ref.bandCells.subarray(first, end),
      digests: ref.digests.subarray(first, end),
    };
  });
  const joined = (name: keyof SnapshotColumns): Uint32Array =>
    Uint32Array.from(parts.flatMap((part) => [...part[name]]));
  return { times: joined('times'), bandCells: joined('bandCells'), digests: joined('digests') };
}

/** SHA-256 of the snapshots' times, then of their digests. */
export function digestOfWindow({ times, digests }: SnapshotColumns): Uint8Array {
  return createHash('sha256').update(bytesOf(times)).update(bytesOf(digests)).digest();
}
