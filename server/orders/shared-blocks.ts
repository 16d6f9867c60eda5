/**
 * Blocks of numbers in memory that the pool's threads read without copies. It is only ever appended
 * to: what a task has been given stays as it is, also where blocks are put and dropped meanwhile.
 */
import type { Turns } from '../turns.js';

const BYTES = Float64Array.BYTES_PER_ELEMENT;
/** Values of the first memory. */
const LEAST_VALUES = 16 * 1024;
/** New memory has room for so many times what lies in it, so that it is rarely filled. */
const SPARE = 2;

/** Where a block lies: index of its first value, and how many values. */
export interface Block {
  readonly at: number;
  readonly length: number;
}

interface OwnBlock extends Block {
  at: number;
}

export class SharedBlocks {
  private values = new Float64Array(new SharedArrayBuffer(LEAST_VALUES * BYTES));
  private used = 0;
  private live = 0;
  private readonly blocks = new Set<OwnBlock>();

  /** Good for the blocks as they lie now: not across a `put`. */
  get memory(): SharedArrayBuffer {
    return this.values.buffer;
  }

  /** Appends a block of `parts`, one after the other. Puts must not overlap: each waits its turn. */
  async put(parts: readonly Float64Array[], turns: Turns): Promise<Block> {
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    if (this.used + length > this.values.length) await this.moveInto(length, turns);
    const block: OwnBlock = { at: this.used, length };
    for (const part of parts) {
      this.values.set(part, this.used);
      this.used += part.length;
    }
    this.blocks.add(block);
    this.live += length;
    return block;
  }

  /** Gives a block's memory up: it is free when the memory is next renewed. */
  drop(block: Block): void {
    if (this.blocks.delete(block)) this.live -= block.length;
  }

  /** Moves what is live into new memory with room for `more` values; blocks get their new place. */
  private async moveInto(more: number, turns: Turns): Promise<void> {
    const length = Math.max(LEAST_VALUES, SPARE * (this.live + more));
    const values = new Float64Array(new SharedArrayBuffer(length * BYTES));
    let used = 0;
    for (const block of this.blocks) {
      values.set(this.values.subarray(block.at, block.at + block.length), used);
      block.at = used;
      used += block.length;
      await turns.take();
    }
    this.values = values;
    this.used = used;
  }
}
