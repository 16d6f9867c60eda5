/** The owners that a file names, by number. */
import type { OwnerNames } from '../../compute/holders/owners.js';

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
