/**
 * Segments for the pool's pages. The columns of segments that several pages use are kept in memory that all
 * threads share, where workers read them in place; other segments are read from storage.
 */
import { countedCache } from '../../storage/counted-cache.js';
import { TaskStuckError } from '../../compute/pool.js';
import type { SegmentInput } from '../../compute/replay/render.js';
import { statedPlainBytes } from '../../compute/segment/lz4.js';
import {
  clearSlice,
  isFilled,
  SLICE_ALIGNMENT,
  type SharedSlice,
} from '../../compute/segment/run.js';
import { checkedBlock, type StoredBlock } from '../../compute/segment/segment.js';
import type { DepthSource } from '../../storage/contract.js';
import { DEFAULT_SHARES } from '../memory.js';

/** A slice and the number of tasks that work on it; while there is one, the slice is not reused. */
export interface RingSlice extends SharedSlice {
  pins: number;
}

/**
 * Slices of one shared memory, given out in a ring: a new one takes the memory of the oldest ones. All of it is
 * allocated at the start, so it bounds what is kept even while tasks still hold views.
 */
export class SliceRing<K> {
  private readonly memory: SharedArrayBuffer;
  /** The oldest first: in order of offset from `next`, wrapping around the end of the memory. */
  private readonly slices = new Map<K, RingSlice>();
  private next = 0;

  constructor(bytes: number) {
    this.memory = new SharedArrayBuffer(bytes);
  }

  get size(): number {
    return this.slices.size;
  }

  get(key: K): RingSlice | undefined {
    return this.slices.get(key);
  }

  /** Frees a slice. */
  delete(key: K): void {
    this.slices.delete(key);
  }

  /** A slice for a key that has none; null if it is too large, or tasks work on slices in its way. */
  add(key: K, bytes: number): RingSlice | null {
    const length = Math.ceil(bytes / SLICE_ALIGNMENT) * SLICE_ALIGNMENT;
    const capacity = this.memory.byteLength;
    if (length > capacity) return null;
    if (this.next + length > capacity) {
      if (!this.evict(({ offset }) => offset >= this.next)) return null;
      this.next = 0;
    }
    const offset = this.next;
    const end = offset + length;
    if (!this.evict((slice) => slice.offset < end && slice.offset + slice.bytes > offset)) {
      return null;
    }
    const slice = { memory: this.memory, offset, bytes: length, pins: 0 };
    this.slices.set(key, slice);
    this.next = end;
    return slice;
  }

  /** Drops the oldest slices that are in the way; returns whether it could drop all of them. */
  private evict(isInTheWay: (slice: RingSlice) => boolean): boolean {
    for (const [key, slice] of this.slices) {
      if (!isInTheWay(slice)) return true;
      if (slice.pins > 0) return false;
      this.slices.delete(key);
    }
    return true;
  }
}

/** Segments remembered as used once. */
const MAX_USED_ONCE = 65_536;

/** A segment's slice that a task works on. */
interface Pinned {
  segmentId: number;
  slice: RingSlice;
}

export class SegmentColumns {
  /** By segment id, whose content never changes within a process. */
  private readonly ring: SliceRing<number>;
  private readonly usedOnce = countedCache<number, true>(MAX_USED_ONCE);

  /** @param bytes of shared memory, 12 to 20 for a cell; 0: nothing is kept */
  constructor(
    private readonly depth: Pick<DepthSource, 'readStoredBlocks'>,
    bytes: number = DEFAULT_SHARES.columns,
  ) {
    this.ring = new SliceRing(bytes);
  }

  /** Segments whose columns are kept, or are about to be. */
  get size(): number {
    return this.ring.size;
  }

  /**
   * Hands segments to a task: as kept columns, else as blocks, whose buffers may be moved.
   * @throws SegmentGoneError, and what the task throws
   */
  async use<T>(
    ids: readonly number[],
    task: (segments: SegmentInput[], transfer: ArrayBuffer[]) => Promise<T>,
  ): Promise<T> {
    const pinned: Pinned[] = [];
    let isOver = true;
    try {
      const segments = this.kept(ids, pinned);
      const missing = ids.filter((_, i) => segments[i] === null);
      const blocks = missing.length === 0 ? [] : await this.depth.readStoredBlocks(missing);
      const transfer = blocks.map(({ block }) => block.buffer as ArrayBuffer);
      const found = ids.map((id, i) => segments[i] ?? this.fresh(id, blocks.shift(), pinned));
      return await task(found, transfer);
    } catch (error) {
      isOver = !(error instanceof TaskStuckError);
      throw error;
    } finally {
      // The thread of a stuck task may still write to its slices: they are never reused.
      if (isOver) for (const one of pinned) this.unpin(one);
    }
  }

  private kept(ids: readonly number[], pinned: Pinned[]): (SegmentInput | null)[] {
    return ids.map((segmentId) => {
      const slice = this.ring.get(segmentId);
      if (slice === undefined || !isFilled(slice)) return null;
      this.pin({ segmentId, slice }, pinned);
      return { keptAt: sharedSlice(slice) };
    });
  }

  /** A block, and a slice for its columns if the segment was used before. */
  private fresh(
    segmentId: number,
    stored: StoredBlock | undefined,
    pinned: Pinned[],
  ): SegmentInput {
    if (stored === undefined) throw new Error('storage returned fewer segments than requested');
    const slice = this.newSlice(stored);
    if (slice !== null) this.pin({ segmentId, slice }, pinned);
    return { ...stored, fillAt: slice && sharedSlice(slice) };
  }

  /** @throws Error if the block is damaged: the length that it states could evict other columns */
  private newSlice(stored: StoredBlock): RingSlice | null {
    const { segmentId } = stored;
    if (this.ring.get(segmentId) !== undefined || !this.isUsedAgain(segmentId)) return null;
    const slice = this.ring.add(segmentId, statedPlainBytes(checkedBlock(stored)));
    if (slice !== null) clearSlice(slice);
    return slice;
  }

  /** Admits segments at their second use: a client that reads a long history once evicts nothing. */
  private isUsedAgain(segmentId: number): boolean {
    if (this.usedOnce.delete(segmentId)) return true;
    this.usedOnce.set(segmentId, true);
    return false;
  }

  private pin(one: Pinned, pinned: Pinned[]): void {
    one.slice.pins++;
    pinned.push(one);
  }

  private unpin({ segmentId, slice }: Pinned): void {
    slice.pins--;
    if (slice.pins === 0 && !isFilled(slice)) this.ring.delete(segmentId);
  }
}

/** A slice as a task's input. */
function sharedSlice({ memory, offset, bytes }: RingSlice): SharedSlice {
  return { memory, offset, bytes };
}
