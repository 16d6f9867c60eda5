/** Lists of lists of numbers, as cells and levels of a book are, without an object an entry. */

const FIRST_NUMBERS = 4096;
/** Numbers that one row may hold here (32 MiB); a longer one is read as objects. */
const MAX_NUMBERS = 4 * 1024 * 1024;
/** Numbers that are made room for from row to row (1 MiB). */
const MAX_KEPT_NUMBERS = 128 * 1024;

/** The numbers of one row's lists, one behind the other. */
export class NumberRoom {
  values = new Float64Array(FIRST_NUMBERS);
  length = 0;

  /** Gives up all lists; they hold anything from now on. */
  clear(): void {
    this.length = 0;
    if (this.values.length > MAX_KEPT_NUMBERS) this.values = new Float64Array(FIRST_NUMBERS);
  }

  /** Makes room for more than there is; false where there may be no more. */
  grow(): boolean {
    const { values } = this;
    if (values.length >= MAX_NUMBERS) return false;
    this.values = new Float64Array(values.length * 2);
    this.values.set(values);
    return true;
  }
}

/**
 * `length` entries of `width` numbers each: entry `i` is `values[from + i * width]` and those behind
 * it. Every number is finite or, where its digits stand for more than a double holds, infinite.
 */
export class NumberList {
  constructor(
    private readonly room: NumberRoom,
    readonly from: number,
    readonly length: number,
    readonly width: number,
  ) {}

  get values(): Float64Array {
    return this.room.values;
  }

  /** The same as JSON.parse gives it. */
  toArrays(): number[][] {
    const { from, length, width, values } = this;
    return Array.from({ length }, (_, i) =>
      Array.from(values.subarray(from + i * width, from + (i + 1) * width)),
    );
  }
}
