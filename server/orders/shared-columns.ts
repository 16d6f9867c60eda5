/**
 * Columns of numbers in memory that the pool's threads read without copies. The memory is only ever
 * appended to: a task that holds it is not disturbed by columns that are put and dropped meanwhile.
 */
import type { Turns } from '../turns.js';

const BYTES = Float64Array.BYTES_PER_ELEMENT;
/** Values of the first memory. */
const LEAST_VALUES = 16 * 1024;
/** New memory is this many times as large as what lies in it, so that it is rarely filled. */
const SPARE = 2;

/** Where a column lies: index of its first value, and how many values. */
export interface SharedColumn {
  readonly at: number;
  readonly length: number;
}

interface MovableColumn extends SharedColumn {
  at: number;
}

export class SharedColumns {
  private values = new Float64Array(new SharedArrayBuffer(LEAST_VALUES * BYTES));
  private used = 0;
  private live = 0;
  private readonly columns = new Set<MovableColumn>();

  /** Valid for the columns as they lie now: not after a `put`. */
  get memory(): SharedArrayBuffer {
    return this.values.buffer;
  }

  /** Appends a column of `parts`, one after the other. Calls must not overlap. */
  async put(parts: readonly Float64Array[], turns: Turns): Promise<SharedColumn> {
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    if (this.used + length > this.values.length) await this.moveInto(length, turns);
    const column: MovableColumn = { at: this.used, length };
    for (const part of parts) {
      this.values.set(part, this.used);
      this.used += part.length;
    }
    this.columns.add(column);
    this.live += length;
    return column;
  }

  /** Gives a column's memory up: it is free when the memory is next renewed. */
  drop(column: SharedColumn): void {
    if (this.columns.delete(column)) this.live -= column.length;
  }

  /** Moves what is live into new memory with room for `more` values; columns lie elsewhere then. */
  private async moveInto(more: number, turns: Turns): Promise<void> {
    const length = Math.max(LEAST_VALUES, SPARE * (this.live + more));
    const values = new Float64Array(new SharedArrayBuffer(length * BYTES));
    let used = 0;
    for (const column of this.columns) {
      values.set(this.values.subarray(column.at, column.at + column.length), used);
      column.at = used;
      used += column.length;
      await turns.take();
    }
    this.values = values;
    this.used = used;
  }
}
