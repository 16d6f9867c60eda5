/**
 * A segment's fragments as one sequence of bytes: a head, then the columns. Threads pass it on in one buffer, files
 * store it unchanged, and its columns are read in place.
 */
import { crc32 } from 'node:zlib';
import { FRAGMENT_GROUPS, type FragmentGroup, type SegmentFragments } from './fragments.js';

/** Identifies a segment's fragments. */
export interface FragmentsKey {
  segmentId: number;
  group: FragmentGroup;
}

/** Raise this whenever the same segment would give different bytes: files of another version are made again. */
export const FRAGMENTS_VERSION = 2;
const MAGIC = 0x464d_5446;
const WORD_BYTES = 4;
/** A multiple of 8 bytes: doubles follow. */
const HEAD_WORDS = 12;
const HEAD_BYTES = WORD_BYTES * HEAD_WORDS;
/** The checksum covers everything after it. */
const CHECKSUM_WORD = 2;
const CHECKED_FROM = WORD_BYTES * (CHECKSUM_WORD + 1);
const GROUP_WORD = 6;
const COUNTS_WORD = 8;
const TWO_32 = 2 ** 32;

/** Number of items in the columns. */
interface Counts {
  snapshots: number;
  sums: number;
  aloneBytes: number;
  linkedBytes: number;
}

/** The columns in the order of their bytes: widest numbers first, to align each. */
function columnsIn(buffer: ArrayBuffer, { snapshots, sums, aloneBytes, linkedBytes }: Counts) {
  let at = HEAD_BYTES;
  const take = <T extends ArrayBufferView>(
    Column: (new (buffer: ArrayBuffer, at: number, length: number) => T) & {
      BYTES_PER_ELEMENT: number;
    },
    length: number,
  ): T => {
    const column = new Column(buffer, at, length);
    at += column.byteLength;
    return column;
  };
  return {
    sumCents: take(Float64Array, sums),
    t: take(Uint32Array, snapshots),
    digests: take(Uint32Array, snapshots),
    cellEnds: take(Uint32Array, snapshots + 1),
    textEnds: take(Uint32Array, snapshots + 1),
    crcs: take(Uint32Array, snapshots + 1),
    sumOffsets: take(Uint32Array, snapshots + 1),
    aloneOffsets: take(Uint32Array, snapshots + 1),
    linkedOffsets: take(Uint32Array, snapshots + 1),
    sumMarket: take(Uint16Array, sums),
    aloneBytes: take(Uint8Array, aloneBytes),
    linkedBytes: take(Uint8Array, linkedBytes),
  };
}

function bytesOf({ snapshots, sums, aloneBytes, linkedBytes }: Counts): number {
  return HEAD_BYTES + 10 * sums + WORD_BYTES * (8 * snapshots + 6) + aloneBytes + linkedBytes;
}

/** Packs a segment's fragments. */
export function packFragments(segmentId: number, fragments: SegmentFragments): Uint8Array {
  const { group, alone, linked, ...columns } = fragments;
  const counts = {
    snapshots: fragments.t.length,
    sums: fragments.sumCents.length,
    aloneBytes: alone.bytes.length,
    linkedBytes: linked.bytes.length,
  };
  const buffer = new ArrayBuffer(bytesOf(counts));
  const packed = columnsIn(buffer, counts);
  packed.aloneOffsets.set(alone.offsets);
  packed.linkedOffsets.set(linked.offsets);
  packed.aloneBytes.set(alone.bytes);
  packed.linkedBytes.set(linked.bytes);
  for (const [name, column] of Object.entries(columns)) {
    packed[name as keyof typeof columns].set(column);
  }
  const head = new Uint32Array(buffer, 0, HEAD_WORDS);
  head.set([MAGIC, FRAGMENTS_VERSION, 0, buffer.byteLength]);
  head.set([segmentId % TWO_32, Math.floor(segmentId / TWO_32)], 4);
  head[GROUP_WORD] = FRAGMENT_GROUPS.indexOf(group);
  head.set(Object.values(counts), COUNTS_WORD);
  const bytes = new Uint8Array(buffer);
  head[CHECKSUM_WORD] = crc32(bytes.subarray(CHECKED_FROM));
  return bytes;
}

/**
 * The fragments in packed bytes; they are views of the bytes.
 * @param bytes begin their ArrayBuffer
 * @returns null if they are damaged, or belong to another segment, grouping or version
 */
export function unpackFragments(
  bytes: Uint8Array,
  { segmentId, group }: FragmentsKey,
): SegmentFragments | null {
  if (bytes.length < HEAD_BYTES) return null;
  const buffer = bytes.buffer as ArrayBuffer;
  const head = new Uint32Array(buffer, 0, HEAD_WORDS);
  const [magic, version, checksum, length, low, high, groupIndex] = head;
  if (magic !== MAGIC || version !== FRAGMENTS_VERSION || length !== bytes.length) return null;
  if (crc32(bytes.subarray(CHECKED_FROM)) !== checksum) return null;
  if (high * TWO_32 + low !== segmentId) return null;
  if (FRAGMENT_GROUPS[groupIndex] !== group) return null;
  const [snapshots, sums, aloneBytes, linkedBytes] = head.subarray(COUNTS_WORD);
  const { aloneOffsets, linkedOffsets, ...columns } = columnsIn(buffer, {
    snapshots,
    sums,
    aloneBytes,
    linkedBytes,
  });
  const { aloneBytes: aloneTexts, linkedBytes: linkedTexts, ...numbers } = columns;
  const alone = { offsets: aloneOffsets, bytes: aloneTexts };
  const linked = { offsets: linkedOffsets, bytes: linkedTexts };
  return { group, ...numbers, alone, linked };
}
