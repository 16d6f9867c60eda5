/**
 * A holder block: consecutive snapshots of one token, the first one whole, the others as changes.
 *
 * `u32 crc32` of the rest, then an LZ4 block of: the words FORMAT, snapshots S, owners U, changes K;
 * S times; S counts of changes; and as planes of bytes: U gaps between the owners' numbers, K gaps
 * between the changed owners' indexes in that list, and K low and K high halves of the balances' bits,
 * each XOR the bits of the owner's balance in the previous snapshot (0: it held nothing). An owner
 * whose bits become 0 no longer holds anything. A gap is at least 1; the first one counts from -1.
 */

/** 'FHB1'; it changes with the layout. */
export const FORMAT = 0x31_42_48_46;
/** FORMAT, S, U, K. */
export const HEAD_WORDS = 4;
export const CHECKSUM_BYTES = 4;
export const MAX_OWNER_ID = 0xffff_fffe;

/** The balances of all owners at one time. */
export interface HolderSnapshot {
  /** Epoch seconds. */
  t: number;
  /** Owner numbers, ascending. */
  owner: Uint32Array;
  /** Tokens, > 0; parallel to `owner`. */
  balance: Float64Array;
}

/** The difference of a snapshot from the previous one. */
export interface Changes {
  /** Owner numbers, ascending. */
  owner: Uint32Array;
  /** Low and high half of each balance's bits, XOR those of the previous snapshot. */
  low: Uint32Array;
  high: Uint32Array;
}

/** Offsets of the columns in the plain bytes. */
export interface Layout {
  times: number;
  counts: number;
  ownerGaps: number;
  indexGaps: number;
  low: number;
  high: number;
  /** Length in bytes. */
  end: number;
}

export function layoutOf(snapshots: number, owners: number, changes: number): Layout {
  const times = 4 * HEAD_WORDS;
  const counts = times + 4 * snapshots;
  const ownerGaps = counts + 4 * snapshots;
  const indexGaps = ownerGaps + 4 * owners;
  const low = indexGaps + 4 * changes;
  const high = low + 4 * changes;
  return { times, counts, ownerGaps, indexGaps, low, high, end: high + 4 * changes };
}

/**
 * Writes 32-bit words as four planes of bytes from `at` on: all first bytes, then all second bytes, and
 * so on. Small numbers leave planes of zeros, and doubles of similar size similar planes, which LZ4
 * compresses well.
 */
export function writePlanes(words: Uint32Array, into: Uint8Array, at: number): void {
  const { length } = words;
  for (let i = 0; i < length; i++) {
    const word = words[i];
    into[at + i] = word;
    into[at + length + i] = word >>> 8;
    into[at + 2 * length + i] = word >>> 16;
    into[at + 3 * length + i] = word >>> 24;
  }
}

/** Word `i`, unsigned, of the `length` words that writePlanes wrote from `at` on. */
export function planeWord(bytes: Uint8Array, at: number, length: number, i: number): number {
  const first = at + i;
  return (
    (bytes[first] |
      (bytes[first + length] << 8) |
      (bytes[first + 2 * length] << 16) |
      (bytes[first + 3 * length] << 24)) >>>
    0
  );
}
