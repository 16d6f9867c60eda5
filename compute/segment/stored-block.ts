/** Blocks as they come out of a store, each with what it is to be held against. */
import { crc32 } from 'node:zlib';

export interface StoredBlock {
  segmentId: number;
  block: Uint8Array;
  /** Of the block as it was written. */
  crc32: number;
}

/**
 * The block.
 * @throws Error where its checksum does not fit
 */
export function checkedBlock({ segmentId, block, crc32: written }: StoredBlock): Uint8Array {
  if (crc32(block) !== written) {
    throw new Error(`segment ${segmentId} is damaged: its checksum does not fit`);
  }
  return block;
}
