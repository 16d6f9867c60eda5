import { MAX_BIN, MIN_BIN, MIN_CELL_CENTS, centsOfUsd } from '../ladder.js';
import type { LadderAccumulator } from './accumulator.js';
import type { NumberList } from './number-list.js';

const LEAST_CAPACITY = 1024;
/** More is made room for only when it comes. */
const MOST_FIRST_CAPACITY = 65_536;

/** Cells that the columns of a released store may have room for (4.5 MiB). */
const MOST_KEPT_CAPACITY = 262_144;

interface Columns {
  bin: Int16Array;
  supportCents: Float64Array;
  resistanceCents: Float64Array;
}

/** The last released store's: new memory costs more than what is written to it. */
let spare: Columns | null = null;

function columnsOf(capacity: number): Columns {
  return {
    bin: new Int16Array(capacity),
    supportCents: new Float64Array(capacity),
    resistanceCents: new Float64Array(capacity),
  };
}

/** Cells of one market of one snapshot: a piece of the store, its bins ascending. */
export interface MarketBlock {
  /** Index into the part's list of markets. */
  market: number;
  start: number;
  end: number;
  /** Support + resistance; above MAX_SNAPSHOT_CENTS it is not exact. */
  totalCents: number;
}

/** Columns that grow as markets are binned; a batch has one. */
export class CellStore {
  bin: Int16Array;
  supportCents: Float64Array;
  resistanceCents: Float64Array;
  length = 0;
  /** No cell has more on either side. */
  greatestCents = 0;

  /** @param cells about how many will come */
  constructor(cells: number) {
    const capacity = Math.max(LEAST_CAPACITY, Math.min(cells, MOST_FIRST_CAPACITY));
    const columns = spare !== null && spare.bin.length >= capacity ? spare : columnsOf(capacity);
    if (columns === spare) spare = null;
    this.bin = columns.bin;
    this.supportCents = columns.supportCents;
    this.resistanceCents = columns.resistanceCents;
  }

  /** Gives the columns back for the thread's next store: nothing may be read or added here after. */
  release(): void {
    const { bin, supportCents, resistanceCents } = this;
    if (bin.length <= MOST_KEPT_CAPACITY) spare = { bin, supportCents, resistanceCents };
    const none = columnsOf(0);
    this.bin = none.bin;
    this.supportCents = none.supportCents;
    this.resistanceCents = none.resistanceCents;
    this.length = 0;
  }

  /**
   * Rounds amounts to cents and keeps the cell unless it is under 1.00 USD (data.md section 2).
   * @returns the cell's cents, 0 where it is omitted
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

  /** Appends a market's ladder. */
  pushLadder(market: number, ladder: LadderAccumulator): MarketBlock {
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

  /** Appends the sound cells of a list whose bins ascend; those outside the ladder are left out. */
  pushCells(market: number, { values, from, length }: NumberList): MarketBlock {
    const start = this.length;
    let totalCents = 0;
    for (let i = from; i < from + 3 * length; i += 3) {
      const bin = values[i];
      if (bin < MIN_BIN || bin > MAX_BIN) continue;
      totalCents += this.push(bin, values[i + 1], values[i + 2]);
    }
    return { market, start, end: this.length, totalCents };
  }

  private grow(): void {
    const { bin, supportCents, resistanceCents } = columnsOf(this.bin.length * 2);
    bin.set(this.bin);
    supportCents.set(this.supportCents);
    resistanceCents.set(this.resistanceCents);
    this.bin = bin;
    this.supportCents = supportCents;
    this.resistanceCents = resistanceCents;
  }
}
