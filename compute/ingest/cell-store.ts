/** Cells of a chunk in whole cents, before they become runs. */
import { BIN_COUNT, centsOfUsd, MIN_BIN, MIN_CELL_CENTS } from '../ladder.js';
import type { LadderAccumulator } from './accumulator.js';

const MIN_CAPACITY = 1024;
/** A store with more cells is not kept for the next chunk (4.5 MiB). */
const MAX_KEPT_CAPACITY = 262_144;
/** A new store has memory for at most this many cells; it grows as needed. */
const MAX_FIRST_CAPACITY = 65_536;

/** Cells of one market of one snapshot: a range of the store, its bins ascending. */
export interface MarketCells {
  /** Index into the run's list of markets. */
  market: number;
  start: number;
  end: number;
  /** Support + resistance; not exact above MAX_SNAPSHOT_CENTS. */
  totalCents: number;
}

/** Growing columns of cells; a chunk has one store. */
export class CellStore {
  /** The thread's last released store: allocating memory takes longer than writing to it. */
  private static spare: CellStore | null = null;

  bin: Int16Array;
  supportCents: Float64Array;
  resistanceCents: Float64Array;
  length = 0;
  /** Greatest amount of a cell, support + resistance. */
  greatestCents = 0;

  private constructor(capacity: number) {
    this.bin = new Int16Array(capacity);
    this.supportCents = new Float64Array(capacity);
    this.resistanceCents = new Float64Array(capacity);
  }

  /** An empty store. @param cells expected number of cells */
  static take(cells: number): CellStore {
    const capacity = Math.max(MIN_CAPACITY, Math.min(cells, MAX_FIRST_CAPACITY));
    const { spare } = CellStore;
    CellStore.spare = null;
    return spare !== null && spare.bin.length >= capacity ? spare : new CellStore(capacity);
  }

  /** Leaves the store to the thread's next chunk; do not use it afterwards. */
  release(): void {
    this.length = 0;
    this.greatestCents = 0;
    if (this.bin.length <= MAX_KEPT_CAPACITY) CellStore.spare = this;
  }

  /**
   * Rounds amounts to cents and keeps the cell unless it is below 1.00 USD (docs/definitions.md#cells).
   * @returns the cell's cents; 0 if it is omitted
   */
  push(bin: number, supportUsd: number, resistanceUsd: number): number {
    const support = centsOfUsd(supportUsd);
    const resistance = centsOfUsd(resistanceUsd);
    const cents = support + resistance;
    if (cents < MIN_CELL_CENTS) return 0;
    if (cents > this.greatestCents) this.greatestCents = cents;
    if (this.length === this.bin.length) this.grow();
    const i = this.length++;
    this.bin[i] = bin;
    this.supportCents[i] = support;
    this.resistanceCents[i] = resistance;
    return cents;
  }

  pushLadder(market: number, ladder: LadderAccumulator): MarketCells {
    const { supportUsd, resistanceUsd, firstIndex, lastIndex } = ladder;
    const start = this.length;
    let totalCents = 0;
    for (let i = firstIndex; i <= lastIndex; i++) {
      if (supportUsd[i] !== 0 || resistanceUsd[i] !== 0) {
        totalCents += this.push(MIN_BIN + i, supportUsd[i], resistanceUsd[i]);
      }
    }
    return { market, start, end: this.length, totalCents };
  }

  private grow(): void {
    const capacity = this.bin.length * 2;
    this.bin = grown(this.bin, new Int16Array(capacity));
    this.supportCents = grown(this.supportCents, new Float64Array(capacity));
    this.resistanceCents = grown(this.resistanceCents, new Float64Array(capacity));
  }
}

function grown<T extends Int16Array | Int32Array | Float64Array>(from: T, into: T): T {
  into.set(from);
  return into;
}

/**
 * Rows of flat cells of one snapshot, including those below 1 USD: up to here a market's index, a bin and
 * a row fit into one double for sorting.
 */
const MAX_ROWS_PER_SNAPSHOT = 2 ** 27;
const FIRST_CAPACITY = 4096;

/** Flat cells of one snapshot in the order of their rows; sorts them by market and bin. */
export class ScratchCells {
  /** `market * BIN_COUNT + bin's index`. */
  private keys = new Int32Array(FIRST_CAPACITY);
  private rows = new Int32Array(FIRST_CAPACITY);
  /** Number of cells so far, without those outside the ladder. */
  count = 0;
  /** `market bin` of the cells outside the ladder. */
  private readonly dropped = new Set<string>();
  private readonly droppedMarkets = new Set<number>();

  constructor(
    private readonly supportUsd: Float64Array,
    private readonly resistanceUsd: Float64Array,
  ) {}

  /** Adds the cell of a row. */
  push(market: number, bin: number, row: number): void {
    if (this.count === this.keys.length) this.grow();
    this.keys[this.count] = market * BIN_COUNT + (bin - MIN_BIN);
    this.rows[this.count++] = row;
  }

  /** Records a cell outside the ladder; false if the market already had this bin. */
  pushDropped(market: number, bin: number): boolean {
    const size = this.dropped.size;
    this.droppedMarkets.add(market);
    return this.dropped.add(`${market} ${bin}`).size > size;
  }

  clear(): void {
    this.count = 0;
    if (this.dropped.size > 0) this.dropped.clear();
    if (this.droppedMarkets.size > 0) this.droppedMarkets.clear();
  }

  /**
   * The cells by market, markets without cells on the ladder last.
   * @param onDuplicate gets the row of each cell whose market already had its bin; the cell is left out
   */
  byMarket(store: CellStore, onDuplicate: (row: number) => void): MarketCells[] {
    this.sort();
    const { keys, rows } = this;
    const markets: MarketCells[] = [];
    let cells: MarketCells | null = null;
    /** The first key of the next market. */
    let nextMarket = 0;
    for (let i = 0; i < this.count; i++) {
      const key = keys[i];
      const row = rows[i];
      if (i > 0 && key === keys[i - 1]) {
        onDuplicate(row);
        continue;
      }
      if (cells === null || key >= nextMarket) {
        const market = Math.floor(key / BIN_COUNT);
        nextMarket = (market + 1) * BIN_COUNT;
        cells = { market, start: store.length, end: 0, totalCents: 0 };
        markets.push(cells);
        this.droppedMarkets.delete(market);
      }
      const bin = key - (nextMarket - BIN_COUNT) + MIN_BIN;
      cells.totalCents += store.push(bin, this.supportUsd[row], this.resistanceUsd[row]);
      cells.end = store.length;
    }
    const at = store.length;
    for (const market of this.droppedMarkets) {
      markets.push({ market, start: at, end: at, totalCents: 0 });
    }
    return markets;
  }

  /** Sorts by market, bin and row; most files are already sorted. */
  private sort(): void {
    const { keys, rows, count: length } = this;
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
    this.keys = grown(this.keys, new Int32Array(this.count * 2));
    this.rows = grown(this.rows, new Int32Array(this.count * 2));
  }
}
