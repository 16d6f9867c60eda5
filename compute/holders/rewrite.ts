/** Merges new holder snapshots with stored ones into blocks, a task of the pool. */
import { holderSnapshots, timesOfBlock } from './block-decoder.js';
import { HolderBlockEncoder } from './block-encoder.js';
import type { HolderSnapshot } from './block-format.js';

/** A block with this many snapshots (an hour of minutes) is full. */
const MAX_BLOCK_SNAPSHOTS = 64;
/** With fewer changes after its first snapshot, a block is never full. */
const MIN_FULL_CHANGES = 1024;

/** The size of a block; it decides whether the block takes another snapshot. */
export interface BlockSize {
  snapshots: number;
  /** Owners of the first snapshot plus changes of the later ones. */
  changes: number;
  /** Owners of the first snapshot. */
  firstChanges: number;
}

/** A block and its description in the store. */
export interface EncodedHolderBlock extends Omit<BlockSize, 'snapshots'> {
  block: Uint8Array<ArrayBuffer>;
  /** Epoch seconds, ascending. */
  times: Uint32Array<ArrayBuffer>;
}

/** New snapshots. */
interface AddedHolders {
  block: Uint8Array;
  /** The token's owner number for each of the snapshot's owner numbers. */
  ids: Uint32Array;
}

export interface HolderRewrite {
  /** Blocks of one token, ascending and without overlap. */
  stored: Uint8Array[];
  /** These replace stored snapshots of the same t. */
  added: AddedHolders | null;
  /** New owner number by old number, in the same order; null if unchanged. */
  renumbered: Uint32Array | null;
  /** Times of the snapshots to keep. */
  times: Uint32Array;
  /** Whether to return blocks even if all added snapshots were stored already. */
  always: boolean;
}

/**
 * Whether a block takes no more snapshots. Adding a snapshot rewrites all changes of the block, so the
 * changes may grow to the size of the first snapshot.
 */
export function isFullBlock({ snapshots, changes, firstChanges }: BlockSize): boolean {
  return (
    snapshots >= MAX_BLOCK_SNAPSHOTS ||
    changes - firstChanges >= Math.max(firstChanges, MIN_FULL_CHANGES)
  );
}

/**
 * Merges stored blocks and added snapshots into new blocks; null if nothing changes.
 * @throws Error if a block is damaged
 */
export function rewriteHolderBlocks(input: HolderRewrite): EncodedHolderBlock[] | null {
  const times = [...input.times];
  const added = input.added === null ? none() : renumberedBlock(input.added, times);
  let next = added.next();
  const packer = new BlockPacker();
  const resumes = canResume(input, next.done ? Infinity : next.value.t);
  if (resumes) packer.resume(input.stored[0]);
  let isChanged = input.always;
  for (const stored of storedSnapshots(input, resumes ? 1 : 0, times)) {
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

/** Whether the first stored block is unchanged, and can therefore be continued. */
function canResume({ stored, renumbered, times }: HolderRewrite, firstAdded: number): boolean {
  if (stored.length === 0 || renumbered !== null) return false;
  const first = timesOfBlock(stored[0]);
  return first.every((t, i) => t === times[i]) && first[first.length - 1] < firstAdded;
}

class BlockPacker {
  private readonly blocks: EncodedHolderBlock[] = [];
  private encoder = new HolderBlockEncoder();

  /** Continues a block, which becomes the first one. */
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

/** Snapshots of a block, with owners renumbered and sorted by the token's numbers. */
function* renumberedBlock(
  { block, ids }: AddedHolders,
  times: readonly number[],
): Generator<HolderSnapshot> {
  const sorted = ids.slice().sort();
  const indexOf = new Uint32Array(sorted.length === 0 ? 0 : sorted[sorted.length - 1] + 1);
  for (let index = 0; index < sorted.length; index++) indexOf[sorted[index]] = index;
  const balances = new Float64Array(ids.length);
  for (const snapshot of holderSnapshots(block, times)) {
    balances.fill(0);
    const count = snapshot.owner.length;
    for (let i = 0; i < count; i++) balances[indexOf[ids[snapshot.owner[i]]]] = snapshot.balance[i];
    const owner = new Uint32Array(count);
    const balance = new Float64Array(count);
    for (let index = 0, i = 0; i < count; index++) {
      if (balances[index] === 0) continue;
      owner[i] = sorted[index];
      balance[i++] = balances[index];
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
