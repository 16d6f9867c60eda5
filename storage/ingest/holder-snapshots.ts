/** The owners of a file, the rows of its snapshots, and the frames made from them. */
import { HolderBlockEncoder } from '../../compute/holders/block-encoder.js';
import type { HolderSnapshot } from '../../compute/holders/block-format.js';
import type { OwnerNames } from '../../compute/holders/owners.js';
import type { HoldersFrame } from '../bundle.js';
import { widened } from '../typed-arrays.js';

/** Owners that one file names, at about 150 bytes each: 600 MB. */
export const MAX_OWNERS_PER_FILE = 4_000_000;
/** A frame is closed after this many changes after its first snapshot, at 24 bytes each: 48 MB. */
const MAX_FRAME_CHANGES = 2 * 1024 * 1024;
const FIRST_ROWS = 64;
const FIRST_OWNERS = 1024;

/** Rows of one snapshot in the order of the file. */
export class HolderColumns {
  length = 0;
  owners = new Uint32Array(FIRST_ROWS);
  balances = new Float64Array(FIRST_ROWS);
  /** The line of each row in the file, for faults found later. */
  lines = new Float64Array(FIRST_ROWS);

  push(owner: number, balance: number, line: number): void {
    if (this.length === this.owners.length) this.grow();
    this.owners[this.length] = owner;
    this.balances[this.length] = balance;
    this.lines[this.length++] = line;
  }

  /**
   * Copies of owners and balances, ascending by owner.
   * @param scratch one number per owner of the file
   */
  sorted(scratch: Float64Array): Pick<HolderSnapshot, 'owner' | 'balance'> {
    const owner = this.owners.slice(0, this.length);
    if (isAscending(owner)) return { owner, balance: this.balances.slice(0, this.length) };
    owner.forEach((id, i) => (scratch[id] = this.balances[i]));
    owner.sort();
    return { owner, balance: Float64Array.from(owner, (id) => scratch[id]) };
  }

  private grow(): void {
    this.owners = widened(this.owners, 2 * this.length);
    this.balances = widened(this.balances, 2 * this.length);
    this.lines = widened(this.lines, 2 * this.length);
  }
}

function isAscending(owner: Uint32Array): boolean {
  for (let i = 1; i < owner.length; i++) if (owner[i] <= owner[i - 1]) return false;
  return true;
}

/** Numbers a file's owners from 0 in order of first arrival. */
export class FileOwners {
  private readonly names: string[] = [];
  private readonly ids = new Map<string, number>();
  /** The `round` in which each owner was last seen. */
  private seenIn = new Uint32Array(FIRST_OWNERS);
  private round = 0;
  private numbers = new Float64Array(FIRST_OWNERS);

  has(name: string): boolean {
    return this.ids.has(name);
  }

  get size(): number {
    return this.names.length;
  }

  id(name: string): number {
    let id = this.ids.get(name);
    if (id === undefined) {
      id = this.names.push(name) - 1;
      this.ids.set(name, id);
    }
    return id;
  }

  /** Forgets which owners were seen. */
  forgetSeen(): void {
    this.round++;
  }

  /** Records that an owner was seen. @returns whether it had been seen before */
  see(id: number): boolean {
    if (id >= this.seenIn.length) {
      this.seenIn = widened(this.seenIn, Math.max(2 * this.seenIn.length, id + 1));
    }
    const wasSeen = this.seenIn[id] === this.round;
    this.seenIn[id] = this.round;
    return wasSeen;
  }

  /** One number per owner, for any use until the next call. */
  scratch(): Float64Array {
    if (this.numbers.length < this.size) this.numbers = new Float64Array(2 * this.size);
    return this.numbers;
  }

  /** The names of some owners. */
  namesOf(ids: ArrayLike<number>): OwnerNames {
    const names = Array.from(ids, (id) => this.names[id]);
    const offsets = new Uint32Array(names.length + 1);
    names.forEach((name, i) => (offsets[i + 1] = offsets[i] + name.length));
    return { offsets, bytes: new Uint8Array(Buffer.from(names.join(''), 'latin1')) };
  }

  /** The numbers of the owners with names from namesOf(). */
  idsOf({ offsets, bytes }: OwnerNames): Uint32Array {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
    return Uint32Array.from({ length: offsets.length - 1 }, (_, i) =>
      this.id(text.slice(offsets[i], offsets[i + 1])),
    );
  }
}

/**
 * Frames of snapshots of one token, each `t` once.
 * @param owners the owners behind the snapshots' numbers; their seen marks are reset
 */
export function* framesOf(
  tokenAddress: string,
  snapshots: readonly HolderSnapshot[],
  owners: FileOwners,
): Generator<HoldersFrame> {
  const sorted = [...snapshots].sort((a, b) => a.t - b.t);
  const ids = distinctOwners(sorted, owners);
  const indexes = owners.scratch();
  ids.forEach((id, index) => (indexes[id] = index));
  const names = owners.namesOf(ids);
  let encoder = new HolderBlockEncoder();
  const frame = (): HoldersFrame => ({
    kind: 'holders',
    tokenAddress,
    names,
    times: Uint32Array.from(encoder.times),
    block: encoder.finish(),
  });
  for (const snapshot of sorted) {
    encoder.add({ ...snapshot, owner: snapshot.owner.map((id) => indexes[id]) });
    if (encoder.changes < MAX_FRAME_CHANGES) continue;
    yield frame();
    encoder = new HolderBlockEncoder();
  }
  if (encoder.times.length > 0) yield frame();
}

/** Every owner in the snapshots, once, ascending. */
function distinctOwners(snapshots: readonly HolderSnapshot[], owners: FileOwners): Uint32Array {
  owners.forgetSeen();
  const ids: number[] = [];
  for (const { owner } of snapshots) {
    for (const id of owner) if (!owners.see(id)) ids.push(id);
  }
  return Uint32Array.from(ids).sort();
}
