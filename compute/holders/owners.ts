/** Owners of holder snapshots: names by number and numbers by name, without a string for each. */

/** The names of a token's owners by number. */
export interface OwnerNames {
  /** Owner `id` is `bytes[offsets[id]..offsets[id + 1])`; one more item than owners. */
  offsets: Uint32Array;
  /** ASCII. */
  bytes: Uint8Array;
}

export const MAX_OWNERS_PER_SNAPSHOT = 1_000_000;
/** Owners in all stored snapshots of one token: about 200 MB of names. */
export const MAX_OWNERS_PER_TOKEN = 4_000_000;
/** Characters of an owner. */
export const MAX_OWNER_LENGTH = 64;

export function ownerName({ offsets, bytes }: OwnerNames, id: number): string {
  return String.fromCharCode(...bytes.subarray(offsets[id], offsets[id + 1]));
}

/** Compares owners by address (bytes). */
export function compareNames({ offsets, bytes }: OwnerNames, a: number, b: number): number {
  const lengthA = offsets[a + 1] - offsets[a];
  const lengthB = offsets[b + 1] - offsets[b];
  const shared = Math.min(lengthA, lengthB);
  for (let i = 0; i < shared; i++) {
    const difference = bytes[offsets[a] + i] - bytes[offsets[b] + i];
    if (difference !== 0) return difference;
  }
  return lengthA - lengthB;
}

/** FNV-1a. */
const HASH_START = 0x811c_9dc5;
const HASH_FACTOR = 0x0100_0193;

/** Numbers owners in the order of their arrival. */
export class OwnerTable {
  private bytes: Uint8Array;
  private offsets: Uint32Array;
  private hashes: Uint32Array;
  /** Number + 1 of the owner in each slot; 0 if it is free. The number of slots is a power of two. */
  private slots = new Uint32Array(16);
  size = 0;

  constructor({ offsets, bytes }: OwnerNames) {
    this.bytes = bytes;
    this.offsets = offsets;
    this.hashes = new Uint32Array(offsets.length);
    const count = offsets.length - 1;
    for (let id = 0; id < count; id++) {
      this.hashes[id] = hashOf(bytes, offsets[id], offsets[id + 1]);
    }
    this.size = count;
    this.index();
  }

  /** The current names; they share memory with the table. */
  names(): OwnerNames {
    const offsets = this.offsets.subarray(0, this.size + 1);
    return { offsets, bytes: this.bytes.subarray(0, offsets[this.size]) };
  }

  /** How many of the names the table lacks. */
  countNew(names: OwnerNames): number {
    let fresh = 0;
    for (let i = 0; i + 1 < names.offsets.length; i++) {
      if (this.find(names.bytes, names.offsets[i], names.offsets[i + 1]) < 0) fresh++;
    }
    return fresh;
  }

  /** Writes the number of each name `from <= i < to`; new names get the next ones. */
  number({ offsets, bytes }: OwnerNames, from: number, to: number, into: Uint32Array): void {
    for (let i = from; i < to; i++) {
      const found = this.find(bytes, offsets[i], offsets[i + 1]);
      into[i] = found < 0 ? this.append(bytes, offsets[i], offsets[i + 1]) : found;
    }
  }

  private find(bytes: Uint8Array, start: number, end: number): number {
    const hash = hashOf(bytes, start, end);
    const mask = this.slots.length - 1;
    for (let slot = hash & mask; this.slots[slot] !== 0; slot = (slot + 1) & mask) {
      const id = this.slots[slot] - 1;
      if (this.hashes[id] === hash && this.isAt(id, bytes, start, end)) return id;
    }
    return -1;
  }

  private isAt(id: number, bytes: Uint8Array, start: number, end: number): boolean {
    const first = this.offsets[id];
    if (this.offsets[id + 1] - first !== end - start) return false;
    for (let i = start; i < end; i++) if (this.bytes[first + i - start] !== bytes[i]) return false;
    return true;
  }

  private append(bytes: Uint8Array, start: number, end: number): number {
    const id = this.size;
    const first = this.offsets[id];
    const after = first + end - start;
    if (after > this.bytes.length) this.bytes = grownBytes(this.bytes, after);
    if (id + 2 > this.offsets.length) {
      this.offsets = grownWords(this.offsets, id + 2);
      this.hashes = grownWords(this.hashes, id + 2);
    }
    this.bytes.set(bytes.subarray(start, end), first);
    this.offsets[id + 1] = after;
    this.hashes[id] = hashOf(bytes, start, end);
    this.size++;
    if (2 * this.size > this.slots.length) this.index();
    else this.insert(id);
    return id;
  }

  private index(): void {
    let slots = this.slots.length;
    while (slots < 4 * this.size) slots *= 2;
    this.slots = new Uint32Array(slots);
    for (let id = 0; id < this.size; id++) this.insert(id);
  }

  private insert(id: number): void {
    const mask = this.slots.length - 1;
    let slot = this.hashes[id] & mask;
    while (this.slots[slot] !== 0) slot = (slot + 1) & mask;
    this.slots[slot] = id + 1;
  }
}

/** The names with the kept numbers, in order. */
export function pickNames({ offsets, bytes }: OwnerNames, kept: readonly number[]): OwnerNames {
  const pickedOffsets = new Uint32Array(kept.length + 1);
  kept.forEach((id, i) => {
    pickedOffsets[i + 1] = pickedOffsets[i] + offsets[id + 1] - offsets[id];
  });
  const picked = new Uint8Array(pickedOffsets[kept.length]);
  kept.forEach((id, i) => {
    picked.set(bytes.subarray(offsets[id], offsets[id + 1]), pickedOffsets[i]);
  });
  return { offsets: pickedOffsets, bytes: picked };
}

export const noNames = (): OwnerNames => ({
  offsets: new Uint32Array(1),
  bytes: new Uint8Array(0),
});

function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = HASH_START;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i], HASH_FACTOR);
  return (hash ^ (hash >>> 15)) >>> 0;
}

function grownBytes(bytes: Uint8Array, length: number): Uint8Array {
  const larger = new Uint8Array(Math.max(2 * bytes.length, length));
  larger.set(bytes);
  return larger;
}

function grownWords(words: Uint32Array, length: number): Uint32Array {
  const larger = new Uint32Array(Math.max(2 * words.length, length));
  larger.set(words);
  return larger;
}
