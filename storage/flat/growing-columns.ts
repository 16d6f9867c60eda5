/** Columns put together from a result's chunks, in typed arrays that grow. */
import type { ResultChunk } from '../duckdb/database.js';

const FIRST_CAPACITY = 2048;

abstract class NumberColumn<A extends Uint32Array | Float64Array> {
  private length = 0;

  protected constructor(
    private array: A,
    private readonly make: (length: number) => A,
  ) {}

  /** What has been added, without copying it. */
  get values(): A {
    return this.array.subarray(0, this.length) as A;
  }

  /** Adds the values of a chunk's column, none of them null. */
  add(chunk: ResultChunk, column: number): void {
    this.addEach(chunk.rowCount, chunk.reader(column) as (row: number) => number);
  }

  addEach(rows: number, value: (row: number) => number): void {
    if (this.length + rows > this.array.length) {
      const grown = this.make(Math.max(this.array.length * 2, this.length + rows));
      grown.set(this.values);
      this.array = grown;
    }
    for (let row = 0; row < rows; row++) this.array[this.length++] = value(row);
  }
}

export class UintColumn extends NumberColumn<Uint32Array> {
  constructor() {
    const make = (length: number): Uint32Array => new Uint32Array(length);
    super(make(FIRST_CAPACITY), make);
  }
}

export class DoubleColumn extends NumberColumn<Float64Array> {
  constructor() {
    const make = (length: number): Float64Array => new Float64Array(length);
    super(make(FIRST_CAPACITY), make);
  }
}

/** Texts as indexes into the list of different ones. */
export class TextColumn {
  readonly texts: string[] = [];
  readonly codes = new UintColumn();
  private readonly known = new Map<string, number>();

  add(chunk: ResultChunk, column: number): void {
    const text = chunk.reader(column) as (row: number) => string;
    this.codes.addEach(chunk.rowCount, (row) => this.codeOf(text(row)));
  }

  private codeOf(text: string): number {
    const known = this.known.get(text);
    if (known !== undefined) return known;
    this.known.set(text, this.texts.length);
    return this.texts.push(text) - 1;
  }
}
