/** Columns of numbers in memory that the pool's threads share. */
import type { Turns } from '../../storage/turns.js';

const BYTES = Float64Array.BYTES_PER_ELEMENT;
/** Minimum size of the memory, in values. */
const LEAST_VALUES = 16 * 1024;
/** New memory has twice the space it needs, so it rarely fills up. */
const SPARE = 2;

/** A column in shared memory: index of its first value, number of values. */
export interface SharedColumn {
  readonly at: number;
  readonly length: number;
}

interface MovableColumn extends SharedColumn {
  at: number;
}

/**
 * Columns of numbers in memory that the pool's threads read without copies. Memory is only appended
 * to, so a running task may read it while columns are put and dropped.
 */
export class SharedColumns {
  private values = new Float64Array(new SharedArrayBuffer(LEAST_VALUES * BYTES));
  private used = 0;
  private live = 0;
  private readonly columns = new Set<MovableColumn>();

  /** The memory of the present columns; invalid after the next `put`. */
  get memory(): SharedArrayBuffer {
    return this.values.buffer;
  }

  /** Appends a column that joins `parts`. Calls must not overlap. */
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

  /** Drops a column; its space is freed when the memory is next replaced. */
  drop(column: SharedColumn): void {
    if (this.columns.delete(column)) this.live -= column.length;
  }

  /** Moves all columns into new memory with space for `more` values; this changes their `at`. */
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
