/** Packs in memory, the latest used, within a bound. */
import type { Pack } from '../../../compute/fragments/pack.js';

/** What an entry takes beside its buffer: views, map, key. */
const ENTRY_BYTES = 2048;

export class PackMemory {
  /** By name, least recently used first. */
  private readonly packs = new Map<string, Pack>();
  private ownBytes = 0;

  constructor(readonly maxBytes: number) {}

  /** Bytes in use. */
  get bytes(): number {
    return this.ownBytes;
  }

  get(name: string): Pack | undefined {
    const pack = this.packs.get(name);
    if (pack !== undefined) {
      this.packs.delete(name);
      this.packs.set(name, pack);
    }
    return pack;
  }

  /** Takes a pack, and lets go of those that have not been used for longest. */
  put(name: string, pack: Pack): void {
    this.delete(name);
    this.packs.set(name, pack);
    this.ownBytes += sizeOf(pack);
    for (const oldest of this.packs.keys()) {
      if (this.ownBytes <= this.maxBytes) break;
      this.delete(oldest);
    }
  }

  delete(name: string): void {
    const pack = this.packs.get(name);
    if (pack === undefined) return;
    this.packs.delete(name);
    this.ownBytes -= sizeOf(pack);
  }
}

function sizeOf({ buffer }: Pack): number {
  return buffer.byteLength + ENTRY_BYTES;
}
