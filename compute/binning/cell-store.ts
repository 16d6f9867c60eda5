import { MIN_BIN, MIN_CELL_CENTS, centsOfUsd } from '../ladder/ladder.js';
import type { LadderAccumulator } from './accumulator.js';

const LEAST_CAPACITY = 1024;
/** More is made room for only when it comes. */
const MOST_FIRST_CAPACITY = 65_536;

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

  /** @param cells about how many will come */
  constructor(cells: number) {
    const capacity = Math.max(LEAST_CAPACITY, Math.min(cells, MOST_FIRST_CAPACITY));
    this.bin = new Int16Array(capacity);
    this.supportCents = new Float64Array(capacity);
    this.resistanceCents = new Float64Array(capacity);
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

  private grow(): void {
    const capacity = this.bin.length * 2;
    const bin = new Int16Array(capacity);
    const support = new Float64Array(capacity);
    const resistance = new Float64Array(capacity);
    bin.set(this.bin);
    support.set(this.supportCents);
    resistance.set(this.resistanceCents);
    this.bin = bin;
    this.supportCents = support;
    this.resistanceCents = resistance;
  }
}
