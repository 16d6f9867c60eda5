/** Reads holder blocks. */
import { crc32 } from 'node:zlib';
import { DamageError } from '../damage.js';
import { lz4Decompress } from '../segment/lz4.js';
import {
  CHECKSUM_BYTES,
  FORMAT,
  HEAD_WORDS,
  MAX_OWNER_ID,
  layoutOf,
  planeWord,
  type Changes,
  type HolderSnapshot,
  type Layout,
} from './block-format.js';

/**
 * The snapshots of a block, ascending in t.
 * @param times returns only snapshots at these times, in any order; times not in the block are ignored
 * @throws Error if the block is damaged
 */
export function decodeHolderBlock(block: Uint8Array, times?: readonly number[]): HolderSnapshot[] {
  return [...holderSnapshots(block, times)];
}

/** Like decodeHolderBlock(), but yields one snapshot at a time, to keep only one of a large block in memory. */
export function* holderSnapshots(
  block: Uint8Array,
  times?: readonly number[],
): Generator<HolderSnapshot> {
  const open = openBlock(block);
  const wanted = times === undefined ? null : new Set(times);
  const isWanted = (t: number) => wanted === null || wanted.has(t);
  let left = open.times.filter(isWanted).length;
  const state = new BlockState(open);
  for (let s = 0; left > 0; s++) {
    state.next();
    if (!isWanted(open.times[s])) continue;
    left--;
    yield state.snapshot();
  }
}

/** Every owner in a block, ascending. @throws Error if the block is damaged */
export function ownersOfBlock(block: Uint8Array): Uint32Array {
  return openBlock(block).owners;
}

/** Times of a block's snapshots, ascending. @throws Error if the block is damaged */
export function timesOfBlock(block: Uint8Array): Uint32Array {
  return openBlock(block).times;
}

/** What a check of the store needs to know about a block. */
export interface BlockOutline {
  /** Times of its snapshots, ascending. */
  times: Uint32Array;
  /** Its greatest owner number; -1 if it has no owners. */
  lastOwner: number;
}

/** @throws Error if the block is damaged */
export function outlineOfBlock(block: Uint8Array): BlockOutline {
  const { times, owners } = openBlock(block);
  return { times: times.slice(), lastOwner: owners.at(-1) ?? -1 };
}

/**
 * A block in encoded form: the changes of each snapshot, and the last snapshot.
 * @throws Error if the block is damaged
 */
export function changesOfBlock(block: Uint8Array): {
  times: Uint32Array;
  changes: Changes[];
  last: HolderSnapshot;
} {
  const open = openBlock(block);
  const state = new BlockState(open);
  const changes = Array.from(open.counts, (count) => {
    const changed: Changes = {
      owner: new Uint32Array(count),
      low: new Uint32Array(count),
      high: new Uint32Array(count),
    };
    state.next(changed);
    return changed;
  });
  return { times: open.times, changes, last: state.snapshot() };
}

/** A decompressed block with consistent lengths. */
interface OpenBlock {
  times: Uint32Array;
  /** Number of changes in each snapshot. */
  counts: Uint32Array;
  /** Every owner in the block, ascending. */
  owners: Uint32Array;
  plain: Uint8Array;
  layout: Layout;
  /** Number of changes in all snapshots. */
  changes: number;
}

function openBlock(block: Uint8Array): OpenBlock {
  if (block.length < CHECKSUM_BYTES) throw damaged('it is truncated');
  const stated = new DataView(block.buffer, block.byteOffset).getUint32(0, true);
  const packed = block.subarray(CHECKSUM_BYTES);
  if (crc32(packed) !== stated) throw damaged('its checksum does not match');
  const plain = aligned(lz4Decompress(packed));
  if (plain.length < 4 * HEAD_WORDS) throw damaged('it has no head');
  const [format, snapshots, owners, changes] = new Uint32Array(plain.buffer, 0, HEAD_WORDS);
  if (format !== FORMAT) throw damaged('it has an unknown format');
  const layout = layoutOf(snapshots, owners, changes);
  if (layout.end !== plain.length) throw damaged('its length differs from the stated one');
  const times = new Uint32Array(plain.buffer, layout.times, snapshots);
  const counts = new Uint32Array(plain.buffer, layout.counts, snapshots);
  for (let s = 1; s < snapshots; s++) if (times[s] <= times[s - 1]) throw damaged('times fall');
  if (counts.reduce((sum, count) => sum + count, 0) !== changes) throw damaged('counts differ');
  return { times, counts, owners: ownersOf(plain, layout, owners), plain, layout, changes };
}

function ownersOf(plain: Uint8Array, { ownerGaps }: Layout, count: number): Uint32Array {
  const owners = new Uint32Array(count);
  let owner = -1;
  for (let i = 0; i < count; i++) {
    const gap = planeWord(plain, ownerGaps, count, i);
    owner += gap;
    if (gap === 0 || owner > MAX_OWNER_ID) throw damaged('owners fall');
    owners[i] = owner;
  }
  return owners;
}

/** The bytes at the start of a buffer, to read words without a copy. */
function aligned(bytes: Uint8Array): Uint8Array {
  const ownsBuffer = bytes.byteOffset === 0 && bytes.byteLength === bytes.buffer.byteLength;
  return ownsBuffer ? bytes : new Uint8Array(bytes);
}

/** The balances after the last snapshot read. */
class BlockState {
  private s = -1;
  private change = 0;
  private held = 0;
  /** By owner, in the block's order; 0: no balance. */
  private readonly balance: Float64Array;
  private readonly bits: Uint32Array;

  constructor(private readonly block: OpenBlock) {
    this.balance = new Float64Array(block.owners.length);
    this.bits = new Uint32Array(this.balance.buffer);
  }

  /** Applies the next snapshot's changes, and copies them into `changed`. */
  next(changed?: Changes): void {
    const { balance, bits } = this;
    const { counts, owners, plain, layout, changes } = this.block;
    const first = this.change;
    this.change += counts[++this.s];
    let index = -1;
    for (let change = first; change < this.change; change++) {
      const gap = planeWord(plain, layout.indexGaps, changes, change);
      index += gap;
      if (gap === 0 || index >= owners.length) throw damaged('a change has no owner');
      const low = planeWord(plain, layout.low, changes, change);
      const high = planeWord(plain, layout.high, changes, change);
      if (changed !== undefined) {
        changed.owner[change - first] = owners[index];
        changed.low[change - first] = low;
        changed.high[change - first] = high;
      }
      const held = (bits[2 * index] | bits[2 * index + 1]) !== 0;
      bits[2 * index] ^= low;
      bits[2 * index + 1] ^= high;
      const holds = (bits[2 * index] | bits[2 * index + 1]) !== 0;
      if (holds && !(balance[index] > 0 && balance[index] < Infinity)) {
        throw damaged('a balance is not a number above 0');
      }
      this.held += Number(holds) - Number(held);
    }
  }

  snapshot(): HolderSnapshot {
    const owner = new Uint32Array(this.held);
    const balance = new Float64Array(this.held);
    const { owners } = this.block;
    let count = 0;
    for (let index = 0; index < owners.length; index++) {
      if (this.balance[index] === 0) continue;
      owner[count] = owners[index];
      balance[count++] = this.balance[index];
    }
    return { t: this.block.times[this.s], owner, balance };
  }
}

const damaged = (how: string): Error => new DamageError(`a holder block is damaged: ${how}`);
