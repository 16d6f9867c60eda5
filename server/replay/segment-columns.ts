/**
 * Places in one stretch of shared memory, given out round and round: a new one takes the room of the
 * oldest ones. The memory is there from the start, so nothing that is kept can exceed it, whoever
 * still holds a view of it.
 */
import { TaskOverdueError } from '../../compute/pool.js';
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

/** A place and how many tasks work on it: until none does it is not given to another. */
export interface RingSlice extends SharedSlice {
  pins: number;
}

export class SliceRing<K> {
  private readonly memory: SharedArrayBuffer;
  /** The oldest first, as they lie from `#next` on round the end of the memory. */
  private readonly places = new Map<K, RingSlice>();
  private next = 0;

  constructor(bytes: number) {
    this.memory = new SharedArrayBuffer(bytes);
  }

  get size(): number {
    return this.places.size;
  }

  get(key: K): RingSlice | undefined {
    return this.places.get(key);
  }

  /** Forgets a place; its room is free. */
  delete(key: K): void {
    this.places.delete(key);
  }

  /** A place under a key that has none; null where it is too large, or tasks work on what is in its way. */
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
    if (!this.evict((place) => place.offset < end && place.offset + place.bytes > offset)) {
      return null;
    }
    const place = { memory: this.memory, offset, bytes: length, pins: 0 };
    this.places.set(key, place);
    this.next = end;
    return place;
  }

  /** Drops the oldest places as long as they are in the way; says whether all of those could go. */
  private evict(isInTheWay: (place: RingSlice) => boolean): boolean {
    for (const [key, place] of this.places) {
      if (!isInTheWay(place)) return true;
      if (place.pins > 0) return false;
      this.places.delete(key);
    }
    return true;
  }
}

// Segments for the pool's pages: the columns of those that are asked for again are kept in memory
// that all threads share, where workers read them as they lie; the others are read from storage.

/** At 12 to 20 bytes a cell some 100 full pages. */
export const COLUMN_BYTES = 128 * 1024 * 1024;
/** Segments of which it is known that they were asked for once. */
const MAX_ASKED_ONCE = 65_536;

/** A segment that is kept, or is to be, in one task. */
interface Pinned {
  segmentId: number;
  place: RingSlice;
}

export class SegmentColumns {
  /** By segment id: an id is given once in a store's life in this process, to what never changes. */
  private readonly ring: SliceRing<number>;
  private readonly askedOnce = new Set<number>();

  /** @param bytes of shared memory; 0: nothing is kept */
  constructor(
    private readonly depth: Pick<DepthSource, 'readStoredBlocks'>,
    bytes: number = COLUMN_BYTES,
  ) {
    this.ring = new SliceRing(bytes);
  }

  /** Segments that are kept, or about to be. */
  get size(): number {
    return this.ring.size;
  }

  /**
   * Hands segments to a task: as they are kept, else as blocks, whose buffers may be moved.
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
      isOver = !(error instanceof TaskOverdueError);
      throw error;
    } finally {
      // A task that hangs may write at its places yet: they stay its own.
      if (isOver) for (const one of pinned) this.unpin(one);
    }
  }

  private kept(ids: readonly number[], pinned: Pinned[]): (SegmentInput | null)[] {
    return ids.map((segmentId) => {
      const place = this.ring.get(segmentId);
      if (place === undefined || !isFilled(place)) return null;
      this.pin({ segmentId, place }, pinned);
      return { keptAt: placeOf(place) };
    });
  }

  /** A block, with a place to leave its columns at where they were asked for before. */
  private fresh(
    segmentId: number,
    stored: StoredBlock | undefined,
    pinned: Pinned[],
  ): SegmentInput {
    if (stored === undefined) throw new Error('fewer segments were read than were asked for');
    const place = this.newPlace(stored);
    if (place !== null) this.pin({ segmentId, place }, pinned);
    return { ...stored, keepAt: place && placeOf(place) };
  }

  /** @throws Error where the block is damaged: the room that it states would drive out others' columns */
  private newPlace(stored: StoredBlock): RingSlice | null {
    const { segmentId } = stored;
    if (this.ring.get(segmentId) !== undefined || !this.isAskedAgain(segmentId)) return null;
    const place = this.ring.add(segmentId, statedPlainBytes(checkedBlock(stored)));
    if (place !== null) clearSlice(place);
    return place;
  }

  /** Who reads a long history once is not to drive out what others read. */
  private isAskedAgain(segmentId: number): boolean {
    if (this.askedOnce.delete(segmentId)) return true;
    const [oldest] = this.askedOnce;
    if (this.askedOnce.size === MAX_ASKED_ONCE) this.askedOnce.delete(oldest);
    this.askedOnce.add(segmentId);
    return false;
  }

  private pin(one: Pinned, pinned: Pinned[]): void {
    one.place.pins++;
    pinned.push(one);
  }

  private unpin({ segmentId, place }: Pinned): void {
    place.pins--;
    if (place.pins === 0 && !isFilled(place)) this.ring.delete(segmentId);
  }
}

/** What of a place a task is told. */
function placeOf({ memory, offset, bytes }: RingSlice): SharedSlice {
  return { memory, offset, bytes };
}
