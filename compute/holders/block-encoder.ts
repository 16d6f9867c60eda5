/** Writes holder blocks. */
import { crc32 } from 'node:zlib';
import { MAX_PLAIN_BYTES, lz4Compress } from '../segment/lz4.js';
import { changesOfBlock } from './block-decoder.js';
import {
  CHECKSUM_BYTES,
  FORMAT,
  HEAD_WORDS,
  MAX_OWNER_ID,
  layoutOf,
  type Changes,
} from './block-layout.js';
import { writePlanes } from './byte-planes.js';
import type { HolderSnapshot } from './history.js';

/** Packs snapshots into one block, one after the other. */
export class HolderBlockEncoder {
  /** Changes in all, those of the first snapshot too. */
  changes = 0;
  /** Changes of the first snapshot: its owners. */
  firstChanges = 0;
  readonly times: number[] = [];
  private readonly parts: Changes[] = [];
  private last: HolderSnapshot = { t: -1, owner: new Uint32Array(0), balance: new Float64Array(0) };

  /**
   * Goes on where a block ends, without its snapshots being worked out one by one.
   * @throws Error where the block is damaged
   */
  static resume(block: Uint8Array): HolderBlockEncoder {
    const encoder = new HolderBlockEncoder();
    const { times, parts, last } = changesOfBlock(block);
    encoder.last = last;
    for (const [s, part] of parts.entries()) encoder.push(times[s], part);
    return encoder;
  }

  /**
   * Adds the next snapshot; its columns are not to be changed until the one after it is added.
   * @throws Error where it is not later than the one before, or is no snapshot
   */
  add(snapshot: HolderSnapshot): void {
    checkSnapshot(snapshot, this.last.t);
    this.push(snapshot.t, changesOf(this.last, snapshot));
    this.last = snapshot;
  }

  /** The block, in an ArrayBuffer of its own. @throws Error without a snapshot, or with too much */
  finish(): Uint8Array<ArrayBuffer> {
    if (this.parts.length === 0) throw new Error('a holder block holds at least one snapshot');
    const packed = lz4Compress(this.plain());
    const block = new Uint8Array(CHECKSUM_BYTES + packed.length);
    new DataView(block.buffer).setUint32(0, crc32(packed), true);
    block.set(packed, CHECKSUM_BYTES);
    return block;
  }

  private push(t: number, part: Changes): void {
    this.parts.push(part);
    this.times.push(t);
    this.changes += part.owner.length;
    if (this.parts.length === 1) this.firstChanges = part.owner.length;
  }

  private plain(): Uint8Array {
    const owners = distinctOwners(this.parts);
    const layout = layoutOf(this.parts.length, owners.length, this.changes);
    if (layout.end > MAX_PLAIN_BYTES) throw new Error('a holder block of too many changes');
    const plain = new Uint8Array(layout.end);
    const head = new Uint32Array(plain.buffer, 0, HEAD_WORDS);
    head.set([FORMAT, this.parts.length, owners.length, this.changes]);
    new Uint32Array(plain.buffer, layout.times, this.parts.length).set(this.times);
    new Uint32Array(plain.buffer, layout.counts, this.parts.length).set(
      this.parts.map(({ owner }) => owner.length),
    );
    writePlanes(gapsOf(owners), plain, layout.ownerGaps);
    writePlanes(this.placeGaps(owners), plain, layout.placeGaps);
    writePlanes(this.joined('low'), plain, layout.low);
    writePlanes(this.joined('high'), plain, layout.high);
    return plain;
  }

  private joined(half: 'low' | 'high'): Uint32Array {
    const words = new Uint32Array(this.changes);
    let at = 0;
    for (const part of this.parts) {
      words.set(part[half], at);
      at += part.owner.length;
    }
    return words;
  }

  private placeGaps(owners: Uint32Array): Uint32Array {
    const gaps = new Uint32Array(this.changes);
    let at = 0;
    for (const { owner } of this.parts) {
      let before = -1;
      for (let i = 0; i < owner.length; i++) {
        const place = placeFrom(owners, owner[i], before + 1);
        gaps[at++] = place - before;
        before = place;
      }
    }
    return gaps;
  }
}

/**
 * Packs snapshots of one token, ascending in t, into one block; every balance comes back bit for bit.
 * @throws Error where they are none, not ascending, or not what HolderSnapshot says
 */
export function encodeHolderBlock(snapshots: readonly HolderSnapshot[]): Uint8Array {
  const encoder = new HolderBlockEncoder();
  for (const snapshot of snapshots) encoder.add(snapshot);
  return encoder.finish();
}

function checkSnapshot({ t, owner, balance }: HolderSnapshot, before: number): void {
  if (!Number.isInteger(t) || t <= before || t > 0xffff_ffff) {
    throw new Error('snapshots of a holder block must ascend in t');
  }
  if (owner.length !== balance.length) throw new Error('owners and balances of other lengths');
  let last = -1;
  for (let i = 0; i < owner.length; i++) {
    if (owner[i] <= last || owner[i] > MAX_OWNER_ID) throw new Error('owners must ascend');
    last = owner[i];
    if (!(balance[i] > 0 && balance[i] < Infinity)) throw new Error('a balance must be over 0');
  }
}

/** Walks both snapshots by owner. */
function changesOf(before: HolderSnapshot, after: HolderSnapshot): Changes {
  const most = before.owner.length + after.owner.length;
  const owner = new Uint32Array(most);
  const low = new Uint32Array(most);
  const high = new Uint32Array(most);
  const bitsBefore = bitsOf(before.balance);
  const bitsAfter = bitsOf(after.balance);
  let count = 0;
  let b = 0;
  let a = 0;
  while (b < before.owner.length || a < after.owner.length) {
    const ownerBefore = b < before.owner.length ? before.owner[b] : Infinity;
    const ownerAfter = a < after.owner.length ? after.owner[a] : Infinity;
    const held = ownerBefore <= ownerAfter;
    const holds = ownerAfter <= ownerBefore;
    const lowWord = (held ? bitsBefore[2 * b] : 0) ^ (holds ? bitsAfter[2 * a] : 0);
    const highWord = (held ? bitsBefore[2 * b + 1] : 0) ^ (holds ? bitsAfter[2 * a + 1] : 0);
    if (lowWord !== 0 || highWord !== 0) {
      owner[count] = held ? ownerBefore : ownerAfter;
      low[count] = lowWord;
      high[count++] = highWord;
    }
    if (held) b++;
    if (holds) a++;
  }
  return { owner: owner.slice(0, count), low: low.slice(0, count), high: high.slice(0, count) };
}

function bitsOf(balance: Float64Array): Uint32Array {
  return new Uint32Array(balance.buffer, balance.byteOffset, 2 * balance.length);
}

/** Every owner that changes, ascending. */
function distinctOwners([first, ...others]: readonly Changes[]): Uint32Array {
  // Mostly the first snapshot has all but a few of them.
  const fresh: number[] = [];
  for (const { owner } of others) {
    for (let i = 0, place = 0; i < owner.length; i++) {
      place = placeFrom(first.owner, owner[i], place);
      if (first.owner[place] !== owner[i]) fresh.push(owner[i]);
    }
  }
  if (fresh.length === 0) return first.owner;
  const all = new Uint32Array(first.owner.length + fresh.length);
  all.set(first.owner);
  all.set(fresh, first.owner.length);
  all.sort();
  let count = 0;
  for (let i = 0; i < all.length; i++) if (i === 0 || all[i] !== all[i - 1]) all[count++] = all[i];
  return all.subarray(0, count);
}

function gapsOf(owners: Uint32Array): Uint32Array {
  const gaps = new Uint32Array(owners.length);
  let before = -1;
  for (let i = 0; i < owners.length; i++) {
    gaps[i] = owners[i] - before;
    before = owners[i];
  }
  return gaps;
}

/** Place at or behind `from` of an owner in the list, or where it would stand. */
function placeFrom(owners: Uint32Array, owner: number, from: number): number {
  if (owners[from] === owner) return from;
  let low = from;
  let high = owners.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (owners[middle] < owner) low = middle + 1;
    else high = middle;
  }
  return low;
}
