/**
 * Places in one stretch of shared memory, given out round and round: a new one takes the room of the
 * oldest ones. The memory is there from the start, so nothing that is kept can exceed it, whoever
 * still holds a view of it.
 */
import { PLACE_ALIGNMENT, type SharedPlace } from '../../compute/segment/run.js';

/** A place and how many tasks work on it: until none does it is not given to another. */
export interface RingPlace extends SharedPlace {
  pins: number;
}

export class PlaceRing<K> {
  private readonly memory: SharedArrayBuffer;
  /** The oldest first, as they lie from `#next` on round the end of the memory. */
  private readonly places = new Map<K, RingPlace>();
  private next = 0;

  constructor(bytes: number) {
    this.memory = new SharedArrayBuffer(bytes);
  }

  get size(): number {
    return this.places.size;
  }

  get(key: K): RingPlace | undefined {
    return this.places.get(key);
  }

  /** Forgets a place; its room is free. */
  delete(key: K): void {
    this.places.delete(key);
  }

  /** A place under a key that has none; null where it is too large, or tasks work on what is in its way. */
  add(key: K, bytes: number): RingPlace | null {
    const length = Math.ceil(bytes / PLACE_ALIGNMENT) * PLACE_ALIGNMENT;
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
  private evict(isInTheWay: (place: RingPlace) => boolean): boolean {
    for (const [key, place] of this.places) {
      if (!isInTheWay(place)) return true;
      if (place.pins > 0) return false;
      this.places.delete(key);
    }
    return true;
  }
}
