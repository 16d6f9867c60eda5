/** The one module that knows the LZ4 library. Blocks carry their plain length as a u32 in front. */
import { compressSync, decompressFrameSync, uncompressSync } from 'lz4-napi';

/** A segment's plain bytes never exceed this; a longer stated length is a damaged segment. */
export const MAX_PLAIN_BYTES = 256 * 1024 * 1024;

/** Compresses bytes into one LZ4 block behind a little-endian u32 with the plain length. */
export function lz4Compress(plain: Uint8Array): Uint8Array {
  return compressSync(asBuffer(plain));
}

/**
 * The plain bytes of a block that lz4Compress made.
 * @throws Error where the block is cut short or damaged
 */
export function lz4Decompress(block: Uint8Array): Uint8Array {
  const plainBytes = statedPlainBytes(block);
  const plain = uncompressSync(asBuffer(block));
  if (plain.byteLength !== plainBytes) throw new Error('LZ4 block of another length than stated');
  return plain;
}

/**
 * The plain length that a block states.
 * @throws Error where it can't be one
 */
export function statedPlainBytes(block: Uint8Array): number {
  if (block.byteLength < 4) throw new Error('LZ4 block shorter than its header');
  const plainBytes = new DataView(block.buffer, block.byteOffset, 4).getUint32(0, true);
  if (plainBytes > MAX_PLAIN_BYTES) throw new Error('LZ4 block states an impossible length');
  return plainBytes;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The plain bytes of an LZ4 frame, the form that Arrow files compress their buffers with. */
export function lz4FrameDecompress(frame: Uint8Array): Uint8Array {
  return decompressFrameSync(asBuffer(frame));
}
