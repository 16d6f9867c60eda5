/**
 * A holder block: consecutive snapshots of one token, the first one whole, the others as what changed.
 *
 * `u32 crc32` of what follows, then an LZ4 block of: the words FORMAT, snapshots S, owners U, changes
 * K; S times; S counts of changes; and as planes of bytes: U gaps between the owners' numbers, K gaps
 * between the changes' places in that list, and K low and K high halves of the balance's bits, each
 * XOR the bits that the owner's balance had in the snapshot before, 0 where it held nothing. An owner
 * whose bits become 0 holds nothing any more. A gap is at least 1, the first one counts from -1.
 */

/** 'FHB1': another layout is another word. */
export const FORMAT = 0x31_42_48_46;
/** FORMAT, S, U, K. */
export const HEAD_WORDS = 4;
/** Bytes of the checksum in front. */
export const CHECKSUM_BYTES = 4;
/** Greatest number of an owner. */
export const MAX_OWNER_ID = 0xffff_fffe;

/** What a snapshot differs in from the one before. */
export interface Changes {
  /** Ascending. */
  owner: Uint32Array;
  /** Low and high half of each balance's bits, XOR those before. */
  low: Uint32Array;
  high: Uint32Array;
}

/** Where the parts of the plain bytes begin. */
export interface Layout {
  times: number;
  counts: number;
  ownerGaps: number;
  placeGaps: number;
  low: number;
  high: number;
  /** Bytes in all. */
  end: number;
}

/** The layout of a block with so many snapshots, owners and changes. */
export function layoutOf(snapshots: number, owners: number, changes: number): Layout {
  const times = 4 * HEAD_WORDS;
  const counts = times + 4 * snapshots;
  const ownerGaps = counts + 4 * snapshots;
  const placeGaps = ownerGaps + 4 * owners;
  const low = placeGaps + 4 * changes;
  const high = low + 4 * changes;
  return { times, counts, ownerGaps, placeGaps, low, high, end: high + 4 * changes };
}
