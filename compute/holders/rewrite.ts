/** Lays holder snapshots over stored ones and cuts the result into blocks: a task of the pool. */
import { holderSnapshots, timesOfBlock } from './block-decoder.js';
import { HolderBlockEncoder } from './block-encoder.js';
import type { HolderSnapshot } from './history.js';

/** A block is closed with so many snapshots: an hour of minutes. */
const MAX_BLOCK_SNAPSHOTS = 64;
/** Changes behind the first snapshot that never close a block. */
const MIN_CLOSING_CHANGES = 1024;

/** What tells whether another snapshot goes into a block. */
export interface BlockSize {
  /** Snapshots. */
  snapshots: number;
  /** Owners of the first snapshot and changes of the later ones, in all. */
  changes: number;
  /** Owners of the first snapshot. */
  firstChanges: number;
}

/** A block and what the store keeps beside it. */
export interface EncodedHolderBlock extends Omit<BlockSize, 'snapshots'> {
  block: Uint8Array<ArrayBuffer>;
  /** Epoch seconds, ascending. */
  times: Uint32Array<ArrayBuffer>;
}

/** Snapshots to be laid over stored ones. */
export interface AddedHolders {
  block: Uint8Array;
  /** The block's owner numbers -> the token's. */
  ids: Uint32Array;
}

export interface HolderRewrite {
  /** Blocks of one token, ascending and without overlap. */
  stored: Uint8Array[];
  /** In place of stored snapshots of the same t. */
  added: AddedHolders | null;
  /** What becomes of the stored blocks' owner numbers, ascending with them; null: they stay. */
  renumbered: Uint32Array | null;
  /** Times of the snapshots that go into the result; others are left out. */
  times: Uint32Array;
  /** Whether there is a result even where nothing is added that is not stored. */
  always: boolean;
}

/**
 * Whether a block takes no more: what it grows by is written again with each snapshot that is added,
 * so that its changes may make up as much as its first snapshot.
 */
export function isFullBlock({ snapshots, changes, firstChanges }: BlockSize): boolean {
  return (
    snapshots >= MAX_BLOCK_SNAPSHOTS ||
    changes - firstChanges >= Math.max(firstChanges, MIN_CLOSING_CHANGES)
  );
}

/**
 * The snapshots of stored blocks and added ones as new blocks, or null where they are as stored.
 * @throws Error where a block is damaged
 */
export function rewriteHolderBlocks(input: HolderRewrite): EncodedHolderBlock[] | null {
  const times = [...input.times];
  const added = input.added === null ? none() : renumberedBlock(input.added, times);
  let next = added.next();
  const packer = new BlockPacker();
  const resumed = resumedBlocks(input, next.done ? Infinity : next.value.t);
  if (resumed > 0) packer.resume(input.stored[0]);
  let isChanged = input.always;
  for (const stored of storedSnapshots(input, resumed, times)) {
    for (; !next.done && next.value.t < stored.t; next = added.next()) {
      packer.add(next.value);
      isChanged = true;
    }
    if (!next.done && next.value.t === stored.t) {
      isChanged ||= !isSame(stored, next.value);
      packer.add(next.value);
      next = added.next();
    } else packer.add(stored);
  }
  for (; !next.done; next = added.next()) {
    packer.add(next.value);
    isChanged = true;
  }
  return isChanged ? packer.finish() : null;
}

/** How many of the stored blocks, from the first, are gone on with as they are: one or none. */
function resumedBlocks({ stored, renumbered, times }: HolderRewrite, firstAdded: number): number {
  if (stored.length === 0 || renumbered !== null) return 0;
  const first = timesOfBlock(stored[0]);
  const stays = first.every((t, i) => t === times[i]) && first[first.length - 1] < firstAdded;
  return stays ? 1 : 0;
}

class BlockPacker {
  private readonly blocks: EncodedHolderBlock[] = [];
  private encoder = new HolderBlockEncoder();

  /** Takes the snapshots of a block that is the first. */
  resume(block: Uint8Array): void {
    this.encoder = HolderBlockEncoder.resume(block);
  }

  add(snapshot: HolderSnapshot): void {
    const { times, changes, firstChanges } = this.encoder;
    if (isFullBlock({ snapshots: times.length, changes, firstChanges })) this.close();
    this.encoder.add(snapshot);
  }

  finish(): EncodedHolderBlock[] {
    if (this.encoder.times.length > 0) this.close();
    return this.blocks;
  }

  private close(): void {
    const { times, changes, firstChanges } = this.encoder;
    const block = this.encoder.finish();
    this.blocks.push({ block, times: Uint32Array.from(times), changes, firstChanges });
    this.encoder = new HolderBlockEncoder();
  }
}

function* none(): Generator<HolderSnapshot> {}

function* storedSnapshots(
  { stored, renumbered }: HolderRewrite,
  first: number,
  times: readonly number[],
): Generator<HolderSnapshot> {
  for (const block of stored.slice(first)) {
    for (const snapshot of holderSnapshots(block, times)) {
      if (renumbered === null) yield snapshot;
      else yield { ...snapshot, owner: snapshot.owner.map((owner) => renumbered[owner]) };
    }
  }
}

/** Snapshots of a block under the token's owner numbers, which ascend in another order. */
function* renumberedBlock(
  { block, ids }: AddedHolders,
  times: readonly number[],
): Generator<HolderSnapshot> {
  const sorted = ids.slice().sort();
  const placeOf = new Uint32Array(sorted.length === 0 ? 0 : sorted[sorted.length - 1] + 1);
  for (let place = 0; place < sorted.length; place++) placeOf[sorted[place]] = place;
  const balances = new Float64Array(ids.length);
  for (const snapshot of holderSnapshots(block, times)) {
    balances.fill(0);
    const count = snapshot.owner.length;
    for (let i = 0; i < count; i++) balances[placeOf[ids[snapshot.owner[i]]]] = snapshot.balance[i];
    const owner = new Uint32Array(count);
    const balance = new Float64Array(count);
    for (let place = 0, i = 0; i < count; place++) {
      if (balances[place] === 0) continue;
      owner[i] = sorted[place];
      balance[i++] = balances[place];
    }
    yield { t: snapshot.t, owner, balance };
  }
}

function isSame(a: HolderSnapshot, b: HolderSnapshot): boolean {
  if (a.owner.length !== b.owner.length) return false;
  for (let i = 0; i < a.owner.length; i++) {
    if (a.owner[i] !== b.owner[i] || a.balance[i] !== b.balance[i]) return false;
  }
  return true;
}
