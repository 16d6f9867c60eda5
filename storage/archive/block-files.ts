/** Files of archived blocks: what FileCache must know of them. */
import { crc32 } from 'node:zlib';
import type { FileCache, FileKind, NamedFile } from '../file-cache.js';

const NAME = /^([1-9][0-9]{0,15})-([0-9]{1,10})-([1-9][0-9]{0,9})\.block$/;

interface BlockKey {
  segmentId: number;
  /** Of the block, as the segment's row has it: a file of an earlier segment of this id does not pass. */
  crc32: number;
}

export type BlockFiles = FileCache<BlockKey, Uint8Array>;

export const BLOCK_FILES: FileKind<BlockKey, Uint8Array> = {
  folder: 'archived',

  nameOf({ segmentId, crc32: checksum, bytes }) {
    return `${segmentId}-${checksum}-${bytes}.block`;
  },

  fileOf(name): NamedFile<BlockKey> | null {
    const found = NAME.exec(name);
    if (found === null) return null;
    const [segmentId, checksum, bytes] = found.slice(1).map(Number);
    return { segmentId, crc32: checksum, bytes };
  },

  textOf({ segmentId }) {
    return String(segmentId);
  },

  // A segment has one file, whatever its checksum.
  keysOf(segmentId) {
    return [{ segmentId, crc32: 0 }];
  },

  unpack(bytes, { crc32: checksum }) {
    return crc32(bytes) === checksum ? bytes : null;
  },
};
