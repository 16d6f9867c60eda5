/** LZ4; no other module imports the library. A block begins with its plain length as a little-endian u32. */
import { compressSync, decompressFrameSync, uncompressSync } from 'lz4-napi';

/** A segment's plain bytes never exceed this; a block that states more is damaged. */
export const MAX_PLAIN_BYTES = 256 * 1024 * 1024;

/** Compresses bytes into one block. */
export function lz4Compress(plain: Uint8Array): Uint8Array {
  return compressSync(asBuffer(plain));
}

/**
 * The plain bytes of a block from lz4Compress(), in an ArrayBuffer of their own.
 * @throws Error if the block is truncated or damaged
 */
export function lz4Decompress(block: Uint8Array): Uint8Array<ArrayBuffer> {
  const plainBytes = statedPlainBytes(block);
  const plain = uncompressSync(asBuffer(block));
  if (plain.byteLength !== plainBytes) throw new Error('LZ4 block has another length than stated');
  const { buffer, byteOffset, byteLength } = plain as Uint8Array<ArrayBuffer>;
  const ownsBuffer = byteOffset === 0 && byteLength === buffer.byteLength;
  return ownsBuffer ? new Uint8Array(buffer) : new Uint8Array(plain);
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
