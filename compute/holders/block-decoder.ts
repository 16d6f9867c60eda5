/** Reads holder blocks. */
import { crc32 } from 'node:zlib';
import { lz4Decompress } from '../segment/lz4.js';
import {
  CHECKSUM_BYTES,
  FORMAT,
  HEAD_WORDS,
  MAX_OWNER_ID,
  layoutOf,
  type Changes,
  type Layout,
} from './block-layout.js';
import { planeWord } from './byte-planes.js';
import type { HolderSnapshot } from './history.js';

/** A block, unpacked, whose lengths fit one another. */
interface OpenBlock {
  plain: Uint8Array;
  layout: Layout;
  times: Uint32Array;
  counts: Uint32Array;
  changes: number;
  /** Every owner that it names, ascending. */
  owners: Uint32Array;
}

/**
 * The snapshots of a block, ascending in t.
 * @param times only those at these moments, in whatever order; ones that it has not got are left out
 * @throws Error where the block is damaged
 */
export function decodeHolderBlock(block: Uint8Array, times?: readonly number[]): HolderSnapshot[] {
  return [...holderSnapshots(block, times)];
}

/** decodeHolderBlock, one snapshot after the other: of a large block only one is then in memory. */
export function* holderSnapshots(
  block: Uint8Array,
  times?: readonly number[],
): Generator<HolderSnapshot> {
  const open = openBlock(block);
  const wanted = times === undefined ? null : new Set(times);
  let left = open.times.reduce((sum, t) => sum + (wanted?.has(t) === false ? 0 : 1), 0);
  const state = new BlockState(open);
  for (let s = 0; left > 0; s++) {
    state.next();
    if (wanted?.has(open.times[s]) === false) continue;
    left--;
    yield state.snapshot();
  }
}

/** Every owner that a block names, ascending; no other's balance changes in it. */
export function ownersOfBlock(block: Uint8Array): Uint32Array {
  return openBlock(block).owners;
}

/**
 * A block as it was packed: what each snapshot changes, and the last one.
 * @throws Error where the block is damaged
 */
export function changesOfBlock(block: Uint8Array): {
  times: Uint32Array;
  parts: Changes[];
  last: HolderSnapshot;
} {
  const open = openBlock(block);
  const { plain, layout, times, counts, changes, owners } = open;
  const state = new BlockState(open);
  let change = 0;
  const parts = Array.from(counts, (count) => {
    state.next();
    const part: Changes = {
      owner: new Uint32Array(count),
      low: new Uint32Array(count),
      high: new Uint32Array(count),
    };
    let place = -1;
    for (let i = 0; i < count; i++, change++) {
      place += planeWord(plain, layout.placeGaps, changes, change);
      part.owner[i] = owners[place];
      part.low[i] = planeWord(plain, layout.low, changes, change);
      part.high[i] = planeWord(plain, layout.high, changes, change);
    }
    return part;
  });
  return { times, parts, last: state.snapshot() };
}

/** Times of a block's snapshots, ascending. @throws Error where the block is damaged */
export function timesOfBlock(block: Uint8Array): Uint32Array {
  return openBlock(block).times;
}

/** Who holds what in the snapshot that was read last. */
class BlockState {
  private s = -1;
  private change = 0;
  private held = 0;
  private readonly balance: Float64Array;
  private readonly bits: Uint32Array;

  constructor(private readonly block: OpenBlock) {
    this.balance = new Float64Array(block.owners.length);
    this.bits = new Uint32Array(this.balance.buffer);
  }

  next(): void {
    const { bits, block } = this;
    const { plain, layout, changes, owners } = block;
    const end = this.change + block.counts[++this.s];
    let place = -1;
    for (; this.change < end; this.change++) {
      const gap = planeWord(plain, layout.placeGaps, changes, this.change);
      place += gap;
      if (gap === 0 || place >= owners.length) throw damaged('a change of no owner');
      const held = isHeld(bits, place);
      bits[2 * place] ^= planeWord(plain, layout.low, changes, this.change);
      bits[2 * place + 1] ^= planeWord(plain, layout.high, changes, this.change);
      const holds = isHeld(bits, place);
      const balance = this.balance[place];
      if (holds && !(balance > 0 && balance < Infinity)) throw damaged('a balance of no amount');
      this.held += Number(holds) - Number(held);
    }
  }

  snapshot(): HolderSnapshot {
    const owner = new Uint32Array(this.held);
    const balance = new Float64Array(this.held);
    const { owners } = this.block;
    let count = 0;
    for (let place = 0; place < owners.length; place++) {
      if (this.balance[place] === 0) continue;
      owner[count] = owners[place];
      balance[count++] = this.balance[place];
    }
    return { t: this.block.times[this.s], owner, balance };
  }
}

function isHeld(bits: Uint32Array, place: number): boolean {
  return bits[2 * place] !== 0 || bits[2 * place + 1] !== 0;
}

function openBlock(block: Uint8Array): OpenBlock {
  if (block.length < CHECKSUM_BYTES) throw damaged('it is cut short');
  const stated = new DataView(block.buffer, block.byteOffset).getUint32(0, true);
  const packed = block.subarray(CHECKSUM_BYTES);
  if (crc32(packed) !== stated) throw damaged('its checksum does not fit');
  const plain = aligned(lz4Decompress(packed));
  if (plain.length < 4 * HEAD_WORDS) throw damaged('it has no head');
  const [format, snapshots, owners, changes] = new Uint32Array(plain.buffer, 0, HEAD_WORDS);
  if (format !== FORMAT) throw damaged('it is of an unknown format');
  const layout = layoutOf(snapshots, owners, changes);
  if (layout.end !== plain.length) throw damaged('it is of another length than stated');
  const times = new Uint32Array(plain.buffer, layout.times, snapshots);
  const counts = new Uint32Array(plain.buffer, layout.counts, snapshots);
  for (let s = 1; s < snapshots; s++) if (times[s] <= times[s - 1]) throw damaged('times fall');
  if (counts.reduce((sum, count) => sum + count, 0) !== changes) throw damaged('counts differ');
  return { plain, layout, times, counts, changes, owners: ownersOf(plain, layout, owners) };
}

function ownersOf(plain: Uint8Array, layout: Layout, count: number): Uint32Array {
  const owners = new Uint32Array(count);
  let owner = -1;
  for (let i = 0; i < count; i++) {
    const gap = planeWord(plain, layout.ownerGaps, count, i);
    owner += gap;
    if (gap === 0 || owner > MAX_OWNER_ID) throw damaged('owners fall');
    owners[i] = owner;
  }
  return owners;
}

/** The bytes at the start of a buffer of their own: words can be read from it in place. */
function aligned(bytes: Uint8Array): Uint8Array {
  const isAlone = bytes.byteOffset === 0 && bytes.byteLength === bytes.buffer.byteLength;
  return isAlone ? bytes : new Uint8Array(bytes);
}

const damaged = (how: string): Error => new Error(`a holder block is damaged: ${how}`);
