/** Writes holder blocks. */
import { crc32 } from 'node:zlib';
import { firstFrom } from '../search.js';
import { lz4Compress, MAX_PLAIN_BYTES } from '../segment/lz4.js';
import { changesOfBlock } from './block-decoder.js';
import {
  type Changes,
  CHECKSUM_BYTES,
  FORMAT,
  HEAD_WORDS,
  type HolderSnapshot,
  layoutOf,
  MAX_OWNER_ID,
  writePlanes,
} from './block-format.js';

/** Encodes snapshots of one token into one block, one at a time. Balances keep every bit. */
export class HolderBlockEncoder {
  /** Number of changes in all snapshots, the first included. */
  changes = 0;
  /** Number of changes in the first snapshot: its owners. */
  firstChanges = 0;
  readonly times: number[] = [];
  /** By snapshot. */
  private readonly added: Changes[] = [];
  private last: HolderSnapshot = { t: -1, owner: new Uint32Array(0), balance: new Float64Array(0) };

  /**
   * An encoder that continues a block.
   * @throws Error if the block is damaged
   */
  static resume(block: Uint8Array): HolderBlockEncoder {
    const encoder = new HolderBlockEncoder();
    const { times, changes, last } = changesOfBlock(block);
    encoder.last = last;
    changes.forEach((added, s) => encoder.push(times[s], added));
    return encoder;
  }

  /**
   * Adds the next snapshot. Its columns must not change until the one after it has been added.
   * @throws Error if it is not later than the one before, or invalid
   */
  add(snapshot: HolderSnapshot): void {
    checkSnapshot(snapshot, this.last.t);
    this.push(snapshot.t, changesOf(this.last, snapshot));
    this.last = snapshot;
  }

  /** The block, in a new ArrayBuffer. @throws Error without a snapshot, or with too many changes */
  finish(): Uint8Array<ArrayBuffer> {
    if (this.added.length === 0) throw new Error('a holder block holds at least one snapshot');
    const packed = lz4Compress(this.plain());
    const block = new Uint8Array(CHECKSUM_BYTES + packed.length);
    new DataView(block.buffer).setUint32(0, crc32(packed), true);
    block.set(packed, CHECKSUM_BYTES);
    return block;
  }

  private push(t: number, added: Changes): void {
    this.added.push(added);
    this.times.push(t);
    this.changes += added.owner.length;
    if (this.added.length === 1) this.firstChanges = added.owner.length;
  }

  private plain(): Uint8Array {
    const owners = distinctOwners(this.added);
    const layout = layoutOf(this.added.length, owners.length, this.changes);
    if (layout.end > MAX_PLAIN_BYTES) throw new Error('a holder block has too many changes');
    const plain = new Uint8Array(layout.end);
    const head = new Uint32Array(plain.buffer, 0, HEAD_WORDS);
    head.set([FORMAT, this.added.length, owners.length, this.changes]);
    new Uint32Array(plain.buffer, layout.times, this.added.length).set(this.times);
    new Uint32Array(plain.buffer, layout.counts, this.added.length).set(
      this.added.map(({ owner }) => owner.length),
    );
    writePlanes(gapsOf(owners), plain, layout.ownerGaps);
    writePlanes(this.indexGaps(owners), plain, layout.indexGaps);
    writePlanes(this.joined('low'), plain, layout.low);
    writePlanes(this.joined('high'), plain, layout.high);
    return plain;
  }

  private joined(half: 'low' | 'high'): Uint32Array {
    const words = new Uint32Array(this.changes);
    let at = 0;
    for (const changes of this.added) {
      words.set(changes[half], at);
      at += changes.owner.length;
    }
    return words;
  }

  private indexGaps(owners: Uint32Array): Uint32Array {
    const gaps = new Uint32Array(this.changes);
    let at = 0;
    for (const { owner } of this.added) {
      let before = -1;
      for (let i = 0; i < owner.length; i++) {
        const index = indexFrom(owners, owner[i], before + 1);
        gaps[at++] = index - before;
        before = index;
      }
    }
    return gaps;
  }
}

function checkSnapshot({ t, owner, balance }: HolderSnapshot, before: number): void {
  if (!Number.isInteger(t) || t <= before || t > 0xffff_ffff) {
    throw new Error('snapshots of a holder block must ascend in t');
  }
  if (owner.length !== balance.length) throw new Error('owners and balances differ in length');
  let last = -1;
  for (let i = 0; i < owner.length; i++) {
    if (owner[i] <= last || owner[i] > MAX_OWNER_ID) throw new Error('owners must ascend');
    last = owner[i];
    if (!(balance[i] > 0 && balance[i] < Infinity)) throw new Error('a balance must be over 0');
  }
}

/** How `after` differs from `before`, by owner. */
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

/** Every owner in the changes, ascending. */
function distinctOwners([first, ...others]: readonly Changes[]): Uint32Array {
  // The first snapshot usually has almost all of them.
  const fresh: number[] = [];
  for (const { owner } of others) {
    for (let i = 0, index = 0; i < owner.length; i++) {
      index = indexFrom(first.owner, owner[i], index);
      if (first.owner[index] !== owner[i]) fresh.push(owner[i]);
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

/** Index of an owner in the list from `from` on; if it is missing, the index where it belongs. */
function indexFrom(owners: Uint32Array, owner: number, from: number): number {
  return owners[from] === owner ? from : firstFrom(owners, owner, from);
}
