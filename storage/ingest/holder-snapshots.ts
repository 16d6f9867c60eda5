/** Rows of one holder snapshot on their way in. */
import { HolderBlockEncoder } from '../../compute/holders/block-encoder.js';
import type { HolderSnapshot } from '../../compute/holders/block-format.js';
import type { OwnerNames } from '../../compute/holders/owners.js';
import type { HoldersFrame } from '../bundle.js';

const FIRST_CAPACITY = 64;

/** Owners and balances in the order of the file. */
export class HolderColumns {
  length = 0;
  private owners = new Uint32Array(FIRST_CAPACITY);
  private balances = new Float64Array(FIRST_CAPACITY);
  private lines: Float64Array | null;

  /** @param keepsLines whether faults may be found later: each row's line is then kept too */
  constructor(keepsLines: boolean) {
    this.lines = keepsLines ? new Float64Array(FIRST_CAPACITY) : null;
  }

  push(owner: number, balance: number, line: number): void {
    if (this.length === this.owners.length) this.grow();
    this.owners[this.length] = owner;
    this.balances[this.length] = balance;
    if (this.lines !== null) this.lines[this.length] = line;
    this.length++;
  }

  owner(row: number): number {
    return this.owners[row];
  }

  balance(row: number): number {
    return this.balances[row];
  }

  lineOf(row: number): number {
    return this.lines?.[row] ?? 0;
  }

  clear(): void {
    this.length = 0;
  }

  /**
   * The columns as copies, ascending by owner.
   * @param scratch a number for each owner of the file
   */
  sorted(scratch: Float64Array): { owner: Uint32Array; balance: Float64Array } {
    const owner = this.owners.slice(0, this.length);
    if (isAscending(owner)) return { owner, balance: this.balances.slice(0, this.length) };
    owner.forEach((id, i) => (scratch[id] = this.balances[i]));
    owner.sort();
    return { owner, balance: Float64Array.from(owner, (id) => scratch[id]) };
  }

  private grow(): void {
    const capacity = 2 * this.length;
    const { owners, balances, lines } = this;
    this.owners = new Uint32Array(capacity);
    this.owners.set(owners);
    this.balances = new Float64Array(capacity);
    this.balances.set(balances);
    if (lines === null) return;
    this.lines = new Float64Array(capacity);
    this.lines.set(lines);
  }
}

function isAscending(owner: Uint32Array): boolean {
  for (let i = 1; i < owner.length; i++) if (owner[i] <= owner[i - 1]) return false;
  return true;
}

/** Owners that one file names, at about 150 bytes each: 600 MB. */
export const MAX_OWNERS_PER_FILE = 4_000_000;

export class FileOwners {
  private readonly names: string[] = [];
  private readonly ids = new Map<string, number>();
  private stamps = new Uint32Array(1024);
  private stamp = 0;
  private room = new Float64Array(1024);

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

  /** Begins another snapshot: nobody has been seen in it. */
  beginSnapshot(): void {
    this.stamp++;
  }

  /** Whether the owner has been seen in this snapshot before; it has been now. */
  see(id: number): boolean {
    if (id >= this.stamps.length) {
      const stamps = new Uint32Array(Math.max(2 * this.stamps.length, id + 1));
      stamps.set(this.stamps);
      this.stamps = stamps;
    }
    const before = this.stamps[id] === this.stamp;
    this.stamps[id] = this.stamp;
    return before;
  }

  /** A number for each owner, of no meaning. */
  scratch(): Float64Array {
    if (this.room.length < this.size) this.room = new Float64Array(2 * this.size);
    return this.room;
  }

  /** Names of some of the owners, in their order. */
  namesOf(ids: ArrayLike<number>): OwnerNames {
    const names = Array.from(ids, (id) => this.names[id]);
    const offsets = new Uint32Array(names.length + 1);
    names.forEach((name, i) => (offsets[i + 1] = offsets[i] + name.length));
    return { offsets, bytes: new Uint8Array(Buffer.from(names.join(''), 'latin1')) };
  }

  /** The numbers of names that namesOf gave. */
  idsOf({ offsets, bytes }: OwnerNames): Uint32Array {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
    return Uint32Array.from({ length: offsets.length - 1 }, (_, i) =>
      this.id(text.slice(offsets[i], offsets[i + 1])),
    );
  }
}

/** Changes of a frame's block behind its first snapshot that close it, at 24 bytes each: 48 MB. */
const MAX_FRAME_CHANGES = 2 * 1024 * 1024;

/** Snapshots of one token, each t once, by the file's numbers of their owners. */
export function* framesOf(
  tokenAddress: string,
  snapshots: readonly HolderSnapshot[],
  owners: FileOwners,
): Generator<HoldersFrame> {
  const sorted = [...snapshots].sort((a, b) => a.t - b.t);
  const ids = distinctOwners(sorted);
  const places = owners.scratch();
  ids.forEach((id, place) => (places[id] = place));
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
    encoder.add({ ...snapshot, owner: snapshot.owner.map((id) => places[id]) });
    if (encoder.changes < MAX_FRAME_CHANGES) continue;
    yield frame();
    encoder = new HolderBlockEncoder();
  }
  if (encoder.times.length > 0) yield frame();
}

/** Every owner of the snapshots, ascending. */
function distinctOwners(snapshots: readonly HolderSnapshot[]): Uint32Array {
  let ids = snapshots[0].owner;
  for (const { owner } of snapshots) {
    if (owner === ids || isWithin(owner, ids)) continue;
    ids = union(ids, owner);
  }
  return ids;
}

function isWithin(some: Uint32Array, all: Uint32Array): boolean {
  let a = 0;
  for (const id of some) {
    while (a < all.length && all[a] < id) a++;
    if (a === all.length || all[a] !== id) return false;
  }
  return true;
}

function union(a: Uint32Array, b: Uint32Array): Uint32Array {
  const both = new Uint32Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  both.sort();
  let count = 0;
  for (let i = 0; i < both.length; i++)
    if (i === 0 || both[i] !== both[i - 1]) both[count++] = both[i];
  return both.slice(0, count);
}
