/** LZ4; no other module imports the library. A block begins with its plain length as a little-endian u32. */
import { compressSync, decompressFrameSync, uncompressSync } from 'lz4-napi';
import { grown, newInstance, type WebAssemblyMemory } from '../web-assembly.js';

/** A segment's plain bytes never exceed this; a block that states more is damaged. */
export const MAX_PLAIN_BYTES = 256 * 1024 * 1024;

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
function statedPlainBytes(block: Uint8Array): number {
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
/** Arrow reads columns in place if they begin at multiples of 8. */
const ALIGNMENT_BYTES = 8;
/** Bytes that are touched after the end of a block, plain or not. */
const SLACK_BYTES = 8;
/** The most memory kept. A full page's segments take 1.3 MB, an aggregate of wide snapshots more. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;

/** Numbers are addresses. */
interface Exports {
  memory: WebAssemblyMemory;
  freeMemory(): number;
  lz4Decompress(from: number, fromEnd: number, to: number, end: number): number;
}

/**
 * Reused memory for the segments of each page. The LZ4 library allocates each time and reports memory pressure to V8
 * with every block, which causes a full collection every dozen pages.
 */
export class PlainMemory {
  private readonly wasm = newInstance<Exports>();
  private memory = new Uint8Array(this.wasm.memory.buffer);
  private readonly start = aligned(this.wasm.freeMemory());
  /** Where the next plain bytes begin, and where the blocks are copied to. */
  private next = this.start;
  private blockAt = this.start;

  /**
   * Frees everything that was decompressed, and makes room for these blocks.
   * @throws Error if one states an impossible length
   */
  begin(blocks: readonly Uint8Array[]): void {
    let longest = 0;
    let end = this.start;
    for (const block of blocks) {
      longest = Math.max(longest, block.length);
      end += roomFor(statedPlainBytes(block));
    }
    this.next = this.blockAt = this.start;
    const all = end + longest + SLACK_BYTES;
    if (all - this.start > MAX_KEPT_BYTES) return;
    this.blockAt = end;
    if (all > this.memory.length) this.memory = grown(this.wasm.memory, all);
  }

  /**
   * The plain bytes of one of the blocks, valid until the next begin(). If there is no room, they are newly allocated.
   * @throws Error if the block is truncated or damaged
   */
  decompress(block: Uint8Array): Uint8Array<ArrayBuffer> {
    const { next, blockAt, memory } = this;
    const bytes = statedPlainBytes(block);
    if (next + roomFor(bytes) > blockAt) return new Uint8Array(lz4Decompress(block));
    this.next += roomFor(bytes);
    memory.set(block, blockAt);
    const end = blockAt + block.length;
    if (this.wasm.lz4Decompress(blockAt + HEADER_BYTES, end, next, next + bytes) === 0) {
      throw new Error('LZ4 block is damaged');
    }
    return memory.subarray(next, next + bytes);
  }
}

const aligned = (bytes: number): number => Math.ceil(bytes / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
const roomFor = (plainBytes: number): number => aligned(plainBytes + SLACK_BYTES);
