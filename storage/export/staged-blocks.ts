/** The stored blocks of one file of an export, on disk while the file is written. */
import { closeSync, openSync, readSync, unlinkSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { SegmentGoneError } from '../contract.js';
import { writeFully } from '../disk.js';

/** Stored blocks by id, in a file that has no name: nothing of it is left over, and it is in nobody's memory. */
export class StagedBlocks {
  private readonly places = new Map<number, { at: number; length: number }>();

  private constructor(private readonly file: number) {}

  /**
   * Reads blocks, in bounded parts.
   * @param read reads some, in order; null if one was replaced
   * @param file where they may be put
   * @throws SegmentGoneError if one was replaced
   */
  static async read(
    ids: readonly number[],
    atOnce: number,
    read: (ids: readonly number[]) => Promise<Uint8Array[] | null>,
    file: string,
  ): Promise<StagedBlocks> {
    const handle = await open(file, 'w', 0o600);
    try {
      const staged = new StagedBlocks(openSync(file, 'r'));
      unlinkSync(file);
      try {
        let at = 0;
        for (let i = 0; i < ids.length; i += atOnce) {
          const some = ids.slice(i, i + atOnce);
          const blocks = await read(some);
          if (blocks === null) throw new SegmentGoneError('a block was replaced');
          for (const [n, block] of blocks.entries()) {
            await writeFully(handle, block, at);
            staged.places.set(some[n], { at, length: block.length });
            at += block.length;
          }
        }
        return staged;
      } catch (error) {
        staged.close();
        throw error;
      }
    } finally {
      await handle.close();
    }
  }

  block(id: number): Uint8Array {
    const { at, length } = this.places.get(id)!;
    const block = new Uint8Array(length);
    for (let done = 0; done < length;) {
      const read = readSync(this.file, block, done, length - done, at + done);
      if (read === 0) throw new Error('the staged blocks were cut short');
      done += read;
    }
    return block;
  }

  close(): void {
    closeSync(this.file);
  }
}
