/** Blocks of segments for the pool's pages. DuckDB takes some milliseconds for a page's, so those used last are kept. */
import { LRUCache } from 'lru-cache';
import type { DepthSource } from '../../storage/contract.js';
import { DEFAULT_SHARES } from '../memory.js';

/** Memory of a block besides its bytes. */
const ENTRY_BYTES = 256;

export class SegmentBlocks {
  /** By segment id, whose content never changes within a process; null: none are kept. */
  private readonly kept: LRUCache<number, Uint8Array> | null;

  /** @param bytes of memory; 0: nothing is kept */
  constructor(
    private readonly depth: Pick<DepthSource, 'readSegments'>,
    bytes: number = DEFAULT_SHARES.blocks,
  ) {
    const sizeCalculation = ({ length }: Uint8Array) => length + ENTRY_BYTES;
    this.kept = bytes === 0 ? null : new LRUCache({ maxSize: bytes, sizeCalculation });
  }

  /** Bytes that are kept. */
  get memoryBytes(): number {
    return this.kept?.calculatedSize ?? 0;
  }

  /** Forgets the blocks of segments that the store no longer has. */
  remove(segmentIds: readonly number[]): void {
    for (const id of segmentIds) this.kept?.delete(id);
  }

  /**
   * The segments' blocks in the order of `ids`; they must not be changed or moved.
   * @throws SegmentGoneError; DamageError if a checksum does not match
   */
  async read(ids: readonly number[]): Promise<Uint8Array[]> {
    const found = ids.map((id) => this.kept?.get(id));
    const missing = ids.filter((_, i) => found[i] === undefined);
    const read = missing.length === 0 ? [] : await this.depth.readSegments(missing);
    missing.forEach((id, i) => this.kept?.set(id, read[i]));
    let next = 0;
    return found.map((block) => block ?? read[next++]);
  }
}
