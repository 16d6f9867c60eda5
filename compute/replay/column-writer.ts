/** Writes the columns of an Arrow page into the page writer's memory. */
import { BIN_FACTORS, MIN_BIN } from '../ladder.js';
import type { Page } from './page.js';
import { layOut, memory, textAt, wasm } from './page-memory.js';

const NO_BYTES = new Uint8Array(0);
const DOUBLE_BYTES = 8;
const INT32_BYTES = 4;

/** Values of each snapshot, repeated for its cells. */
export type SnapshotValues = Uint8Array | Uint32Array | Float64Array | BigInt64Array;

/** Writes columns with a value per cell. Positions count from the text's first byte. */
export class ColumnWriter {
  private readonly rowCount: number;
  private readonly snapshots: number;
  /** Addresses in the page writer's memory. */
  private readonly offsets: number;
  private readonly index: number;
  private readonly bin: number;
  private readonly supportCents: number;
  private readonly resistanceCents: number;
  private readonly priceUsd: number;
  private readonly factorOfBin0: number;
  /** Where values of snapshots and codes are copied to. */
  private readonly scratch: number;

  /** Starts a text of so many bytes, whose contents are to be written. */
  constructor(page: Page, bytes: number) {
    const { cellOffsets, index, bin, supportCents, resistanceCents, priceUsd } = page;
    this.rowCount = page.rowCount;
    this.snapshots = page.snapshotCount;
    const codes = Math.max(page.markets.length, page.groups.length);
    const scratchBytes = Math.max(DOUBLE_BYTES * page.snapshotCount, INT32_BYTES * codes);
    const columns = [supportCents, resistanceCents, priceUsd, BIN_FACTORS as Float64Array];
    const parts = [...columns, cellOffsets, bin, index ?? NO_BYTES];
    const room = { bytes, longestBytes: 0, snapshots: 0 };
    const addresses = layOut(parts, NO_BYTES, room, 0, scratchBytes);
    const [support, resistance, price, factors, offsets, binAt, indexAt, scratch] = addresses;
    this.supportCents = support;
    this.resistanceCents = resistance;
    this.priceUsd = price;
    this.factorOfBin0 = factors - DOUBLE_BYTES * MIN_BIN;
    this.offsets = offsets;
    this.bin = binAt;
    this.index = indexAt;
    this.scratch = scratch;
  }

  /** Repeats each snapshot's value for its cells. */
  repeat(to: number, values: SnapshotValues): void {
    const { offsets, snapshots } = this;
    const widthBits = Math.log2(values.BYTES_PER_ELEMENT);
    wasm.repeatValues(textAt + to, widthBits, offsets, snapshots, this.copied(values));
  }

  /**
   * Writes the code of each cell's index as int32.
   * @param codes by index; -1: null
   * @param validity where the bit of each cell is written; null: no code is -1
   */
  codes(to: number, codes: Int32Array, validity: number | null): void {
    const { rowCount, index } = this;
    const copied = this.copied(codes);
    wasm.writeCodes(textAt + to, index, rowCount, copied);
    if (validity !== null) wasm.writeValidity(textAt + validity, index, rowCount, copied);
  }

  /** Writes bins as int16. */
  bins(to: number): void {
    memory.copyWithin(textAt + to, this.bin, this.bin + 2 * this.rowCount);
  }

  usd(to: number, cents: 'supportCents' | 'resistanceCents'): void {
    wasm.writeUsd(textAt + to, this[cents], this.rowCount);
  }

  /** Writes the price of each cell's bin. */
  prices(to: number): void {
    const { offsets, snapshots, bin } = this;
    wasm.writePrices(textAt + to, offsets, snapshots, this.priceUsd, bin, this.factorOfBin0);
  }

  private copied({ buffer, byteOffset, byteLength }: ArrayBufferView): number {
    memory.set(new Uint8Array(buffer, byteOffset, byteLength), this.scratch);
    return this.scratch;
  }
}
