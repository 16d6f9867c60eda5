/** Blocks written by the last commits: the work after a commit reads them from memory instead of DuckDB. */
import { LRUCache } from 'lru-cache';
import type { StoredBlock } from '../../compute/segment/segment.js';
import type { Turns } from '../turns.js';

/** Bytes of all blocks that are kept. */
const MAX_RECENT_BYTES = 16 * 1024 * 1024;
/** Larger blocks are not kept: those of single new snapshots are small. */
const MAX_RECENT_BLOCK_BYTES = 64 * 1024;
/** Memory that an entry takes besides its block. */
const ENTRY_BYTES = 256;

/** By segment id. No two segments ever have the same id while the store is open. */
export class RecentBlocks {
  private readonly blocks = new LRUCache<number, StoredBlock>({
    maxSize: MAX_RECENT_BYTES,
    sizeCalculation: ({ block }) => block.byteLength + ENTRY_BYTES,
  });

  add(stored: StoredBlock): void {
    if (stored.block.byteLength <= MAX_RECENT_BLOCK_BYTES)
      this.blocks.set(stored.segmentId, stored);
  }

  /** Adds copies of what a commit has written, in turns: those may be parts of larger buffers. */
  async addAll(written: RecentBlocks, turns: Turns): Promise<void> {
    // Oldest first: the newest stay longest.
    for (const stored of written.blocks.rvalues()) {
      if (stored !== undefined) this.add(copied(stored));
      await turns.take();
    }
  }

  delete(segmentIds: readonly number[]): void {
    for (const segmentId of segmentIds) this.blocks.delete(segmentId);
  }

  /** The kept blocks among these ids, each in a separate ArrayBuffer. */
  get(segmentIds: readonly number[]): Map<number, StoredBlock> {
    const found = new Map<number, StoredBlock>();
    for (const segmentId of segmentIds) {
      const stored = this.blocks.get(segmentId);
      if (stored !== undefined) found.set(segmentId, copied(stored));
    }
    return found;
  }
}

const copied = ({ segmentId, block, crc32 }: StoredBlock): StoredBlock => ({
  segmentId,
  block: new Uint8Array(block),
  crc32,
});
