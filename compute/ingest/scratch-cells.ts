import { BIN_COUNT, MIN_BIN } from '../ladder.js';
import type { CellStore, MarketBlock } from './cell-store.js';

/**
 * Rows of flat cells that one snapshot may have, the ones under 1 USD too: what still sorts as
 * whole doubles beside a market's index and a bin.
 */
const MAX_ROWS_PER_SNAPSHOT = 2 ** 27;
const FIRST_CAPACITY = 4096;

/** Flat cells of one snapshot, by row, on their way into sorted blocks. */
export class ScratchCells {
  /** `market * BIN_COUNT + bin's index`. */
  private keys = new Int32Array(FIRST_CAPACITY);
  private rows = new Int32Array(FIRST_CAPACITY);
  private length = 0;
  /** Bins outside the ladder that a market has named. */
  private readonly dropped = new Set<string>();
  private readonly droppedMarkets = new Set<number>();

  constructor(
    private readonly supportUsd: Float64Array,
    private readonly resistanceUsd: Float64Array,
  ) {}

  /** Adds the cell of a row. */
  push(market: number, bin: number, row: number): void {
    if (this.length === this.keys.length) this.grow();
    this.keys[this.length] = market * BIN_COUNT + (bin - MIN_BIN);
    this.rows[this.length++] = row;
  }

  /** Notes a cell outside the ladder; false where its market has named that bin before. */
  pushDropped(market: number, bin: number): boolean {
    const size = this.dropped.size;
    this.droppedMarkets.add(market);
    return this.dropped.add(`${market} ${bin}`).size > size;
  }

  clear(): void {
    this.length = 0;
    if (this.dropped.size > 0) this.dropped.clear();
    if (this.droppedMarkets.size > 0) this.droppedMarkets.clear();
  }

  /**
   * The cells as blocks, one a market, those of markets with no cell on the ladder (empty) last; the
   * first of two cells with one bin is taken.
   * @param onTwice gets the row of each cell whose bin came before
   */
  blocks(store: CellStore, onTwice: (row: number) => void): MarketBlock[] {
    this.sort();
    const { keys, rows } = this;
    const blocks: MarketBlock[] = [];
    let block: MarketBlock | null = null;
    let blockEnd = 0;
    for (let i = 0; i < this.length; i++) {
      const key = keys[i];
      const row = rows[i];
      if (i > 0 && key === keys[i - 1]) {
        onTwice(row);
        continue;
      }
      if (block === null || key >= blockEnd) {
        const market = Math.floor(key / BIN_COUNT);
        blockEnd = (market + 1) * BIN_COUNT;
        block = { market, start: store.length, end: 0, totalCents: 0 };
        blocks.push(block);
        this.droppedMarkets.delete(market);
      }
      const bin = key - (blockEnd - BIN_COUNT) + MIN_BIN;
      block.totalCents += store.push(bin, this.supportUsd[row], this.resistanceUsd[row]);
      block.end = store.length;
    }
    const at = store.length;
    for (const market of this.droppedMarkets) {
      blocks.push({ market, start: at, end: at, totalCents: 0 });
    }
    return blocks;
  }

  /** Sorts by market, bin, row; most files come that way. */
  private sort(): void {
    const { keys, rows, length } = this;
    let i = 1;
    while (i < length && keys[i] >= keys[i - 1]) i++;
    if (i >= length) return;
    if (length > MAX_ROWS_PER_SNAPSHOT) throw new Error('too many rows in one snapshot');
    const order = new Float64Array(length);
    for (let k = 0; k < length; k++) order[k] = keys[k] * MAX_ROWS_PER_SNAPSHOT + k;
    order.sort();
    const sortedRows = new Int32Array(length);
    for (let k = 0; k < length; k++) {
      const key = Math.floor(order[k] / MAX_ROWS_PER_SNAPSHOT);
      sortedRows[k] = rows[order[k] - key * MAX_ROWS_PER_SNAPSHOT];
      order[k] = key;
    }
    for (let k = 0; k < length; k++) keys[k] = order[k];
    rows.set(sortedRows);
  }

  private grow(): void {
    const keys = new Int32Array(this.length * 2);
    const rows = new Int32Array(this.length * 2);
    keys.set(this.keys);
    rows.set(this.rows);
    this.keys = keys;
    this.rows = rows;
  }
}
