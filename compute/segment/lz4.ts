/** LZ4; no other module imports the library. A block begins with its plain length as a little-endian u32. */
import { compressSync, decompressFrameSync, uncompressSync } from 'lz4-napi';

/** A segment's plain bytes never exceed this; a block that states more is damaged. */
export const MAX_PLAIN_BYTES = 256 * 1024 * 1024;

/** Compresses bytes into one block. */
export function lz4Compress(plain: Uint8Array): Uint8Array {
  return compressSync(asBuffer(plain));
}

/**
 * The plain bytes of a block from lz4Compress().
 * @throws Error if the block is truncated or damaged
 */
export function lz4Decompress(block: Uint8Array): Uint8Array {
  const plainBytes = statedPlainBytes(block);
  const plain = uncompressSync(asBuffer(block));
  if (plain.byteLength !== plainBytes) throw new Error('LZ4 block has another length than stated');
  return plain;
}

/**
 * The plain length that a block states.
 * @throws Error if it is impossible
 */
export function statedPlainBytes(block: Uint8Array): number {
  if (block.byteLength < 4) throw new Error('LZ4 block is shorter than its header');
  const plainBytes = new DataView(block.buffer, block.byteOffset, 4).getUint32(0, true);
  if (plainBytes > MAX_PLAIN_BYTES) throw new Error('LZ4 block states an impossible length');
  return plainBytes;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The plain bytes of an LZ4 frame, the form in which Arrow files hold compressed buffers. */
export function lz4FrameDecompress(frame: Uint8Array): Uint8Array {
  return decompressFrameSync(asBuffer(frame));
}

/** The plain length in front of a block. */
const HEADER_BYTES = 4;
const MIN_MATCH_BYTES = 4;
/** A length with this value continues in further bytes. */
const LENGTH_CONTINUES = 15;
/** Shorter copies are made word by word, longer ones by the engine. */
const LONG_COPY_BYTES = 48;
/** Copies by words may touch this many bytes after their end. */
const WORD_BYTES = 4;

/**
 * Decompresses a block from lz4Compress() into memory of exactly its plain length (the format: lz4_Block_format.md).
 * About four times slower than the library, which allocates each time (PlainMemory).
 * @throws Error if the block is truncated or damaged; no byte outside `plain` is touched
 */
export function lz4DecompressInto(block: Uint8Array, plain: Uint8Array): void {
  const source = viewOf(block);
  const target = viewOf(plain);
  const sourceEnd = block.length;
  const targetEnd = plain.length;
  let from = HEADER_BYTES;
  let to = 0;
  for (;;) {
    if (from >= sourceEnd) throw damaged();
    const token = block[from++];
    let length = token >> 4;
    if (length === LENGTH_CONTINUES) {
      let more;
      do length += more = block[from++];
      while (more === 255);
    }
    // A length that continues beyond the block's end is NaN.
    if (!(length <= sourceEnd - from && length <= targetEnd - to)) throw damaged();
    copyLiterals(block, source, from, plain, target, to, length);
    to += length;
    from += length;
    // A block ends with literals.
    if (from === sourceEnd) break;
    const distance = block[from] | (block[from + 1] << 8);
    from += 2;
    length = token & 15;
    if (length === LENGTH_CONTINUES) {
      let more;
      do length += more = block[from++];
      while (more === 255);
    }
    length += MIN_MATCH_BYTES;
    if (!(length <= targetEnd - to) || distance === 0 || distance > to) throw damaged();
    copyMatch(plain, target, to, distance, length);
    to += length;
  }
  if (to !== targetEnd) throw damaged();
}

function copyLiterals(
  block: Uint8Array,
  source: DataView,
  from: number,
  plain: Uint8Array,
  target: DataView,
  to: number,
  length: number,
): void {
  const end = to + length;
  const fitsWords = from + length + WORD_BYTES <= block.length && end + WORD_BYTES <= plain.length;
  if (length > LONG_COPY_BYTES || !fitsWords) {
    plain.set(block.subarray(from, from + length), to);
    return;
  }
  for (; to < end; to += WORD_BYTES, from += WORD_BYTES) {
    target.setUint32(to, source.getUint32(from, true), true);
  }
}

/** Repeats the bytes `distance` before `to`; they may overlap the bytes being written. */
function copyMatch(
  plain: Uint8Array,
  target: DataView,
  to: number,
  distance: number,
  length: number,
): void {
  const end = to + length;
  if (length > LONG_COPY_BYTES && distance >= length) {
    plain.copyWithin(to, to - distance, end - distance);
    return;
  }
  if (distance >= WORD_BYTES && end + WORD_BYTES <= plain.length) {
    for (; to < end; to += WORD_BYTES) {
      target.setUint32(to, target.getUint32(to - distance, true), true);
    }
    return;
  }
  for (; to < end; to++) plain[to] = plain[to - distance];
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

function damaged(): Error {
  return new Error('LZ4 block is damaged');
}

/** Arrow reads columns in place if they begin at multiples of 8. */
const ALIGNMENT = 8;
/** The most memory kept. A full page's segments take 1.3 MB, an aggregate of wide snapshots more. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;

/**
 * Reused memory for the segments of each page. The LZ4 library allocates each time and reports memory pressure to V8
 * with every block, which causes a full collection every dozen pages.
 */
export class PlainMemory {
  private kept = new Uint8Array(0);
  private taken = 0;

  /** Frees everything that was taken. */
  clear(): void {
    const wanted = Math.min(this.taken, MAX_KEPT_BYTES);
    if (wanted > this.kept.length) this.kept = new Uint8Array(wanted);
    this.taken = 0;
  }

  /** Memory with arbitrary contents, valid until clear(); newly allocated if the kept memory is full. */
  take(bytes: number): Uint8Array<ArrayBuffer> {
    const start = this.taken;
    this.taken += Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
    if (start + bytes > this.kept.length) return new Uint8Array(bytes);
    return this.kept.subarray(start, start + bytes);
  }
}
