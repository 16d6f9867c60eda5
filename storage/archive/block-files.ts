/** Files of archived blocks: what FileCache must know of them. Each is a block, then its checksum (little-endian u32). */
import { crc32 } from 'node:zlib';
import type { FileCache, FileKind, NamedFile } from '../file-cache.js';

const NAME = /^([1-9][0-9]{0,15})-([1-9][0-9]{0,9})\.block$/;
const CHECKSUM_BYTES = 4;

interface BlockKey {
  segmentId: number;
}

export type BlockFiles = FileCache<BlockKey, Uint8Array>;

export const BLOCK_FILES: FileKind<BlockKey, Uint8Array> = {
  folder: 'archived',

  nameOf({ segmentId, bytes }) {
    return `${segmentId}-${bytes}.block`;
  },

  fileOf(name): NamedFile<BlockKey> | null {
    const found = NAME.exec(name);
    return found === null ? null : { segmentId: Number(found[1]), bytes: Number(found[2]) };
  },

  textOf({ segmentId }) {
    return String(segmentId);
  },

  keysOf(segmentId) {
    return [{ segmentId }];
  },

  unpack(bytes) {
    const end = bytes.length - CHECKSUM_BYTES;
    if (end <= 0) return null;
    const block = bytes.subarray(0, end);
    const written = new DataView(bytes.buffer, bytes.byteOffset + end).getUint32(0, true);
    return crc32(block) === written ? block : null;
  },
};

/** The content of a block's file. */
export function packBlock(block: Uint8Array, checksum: number): Uint8Array {
  const file = Buffer.allocUnsafe(block.length + CHECKSUM_BYTES);
  file.set(block);
  file.writeUInt32LE(checksum, block.length);
  return file;
}
