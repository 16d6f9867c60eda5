/** Replay pages as columns of the picture: one column per snapshot, one pair of codes per bin. */
import type { ArrowPage, Tier } from '../../client/index.js';
import { BIN_RATIO } from '../ladder/ladder.js';
import { codeOf } from './amounts.js';

/** The ladder (docs/definitions.md#ladder): its lowest bin, and how many there are. */
export const MIN_BIN = -232;
export const BIN_COUNT = 475;
/** The height of a bin in logarithms of the price. */
export const LN_BIN = Math.log(BIN_RATIO);

export interface Column {
  t: number;
  tier: Tier;
  /** The length in seconds of the step whose newest snapshot this is; 0 if every snapshot is loaded. */
  stepS: number;
  priceUsd: number;
  lnPrice: number;
  /** Bins with an amount; `lastBin` is below `firstBin` if there are none. */
  firstBin: number;
  lastBin: number;
  /** Codes (amounts.ts) from MIN_BIN on, alternating between support and resistance. */
  codes: Uint16Array;
}

/** Sums the cells of a bin, whatever the page's grouping. @param stepS the page's step in seconds */
export function columnsOf(page: ArrowPage, stepS = 0): Column[] {
  const values = (name: string) => page.table.getChild(name)?.toArray() as ArrayLike<number>;
  const bins = values('bin');
  const support = values('support_usd');
  const resistance = values('resistance_usd');
  const usd = new Float64Array(2 * BIN_COUNT);
  let row = 0;
  return page.snapshots.map(({ t, tier, price_usd: priceUsd, cells }) => {
    usd.fill(0);
    let firstBin = Infinity;
    let lastBin = -Infinity;
    for (const end = row + cells; row < end; row++) {
      const bin = bins[row];
      usd[2 * (bin - MIN_BIN)] += support[row];
      usd[2 * (bin - MIN_BIN) + 1] += resistance[row];
      firstBin = Math.min(firstBin, bin);
      lastBin = Math.max(lastBin, bin);
    }
    const codes = Uint16Array.from(usd, codeOf);
    return { t, tier, stepS, priceUsd, lnPrice: Math.log(priceUsd), firstBin, lastBin, codes };
  });
}

/** The bin of `lnPrice`, which may be outside the ladder. */
export function binAt(column: Column, lnPrice: number): number {
  return Math.floor((lnPrice - column.lnPrice) / LN_BIN + 0.5);
}

/** Codes of support and resistance in a bin; 0 outside the ladder. */
export function codesAt({ codes }: Column, bin: number): [support: number, resistance: number] {
  const at = 2 * (bin - MIN_BIN);
  return [codes[at] ?? 0, codes[at + 1] ?? 0];
}
