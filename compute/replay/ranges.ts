/** A snapshot's cells by market: the runs of neighbouring cells that a band keeps. */
import type { BinRange } from '../ladder/ladder.js';
import type { RunColumns } from '../segment/run.js';

/** Scratch for one snapshot's ranges, used again for the next one. */
export interface MarketRanges {
  count: number;
  /** Index of the range's market, strictly ascending. */
  market: Int32Array;
  /** Cells `start <= i < end` of the run's columns. */
  start: Int32Array;
  end: Int32Array;
  /** Support + resistance of the range in cents. */
  cents: Float64Array;
}

/** Room for the ranges of any snapshot of a token with this many markets. */
export function emptyRanges(marketCount: number): MarketRanges {
  return {
    count: 0,
    market: new Int32Array(marketCount),
    start: new Int32Array(marketCount),
    end: new Int32Array(marketCount),
    cents: new Float64Array(marketCount),
  };
}

/**
 * Fills `ranges` with the cells of snapshot `row` that lie in the band, market by market; a market
 * without any there has no range.
 * @throws RangeError where a cell's market is not in the token's list
 */
export function findRanges(
  run: RunColumns,
  row: number,
  band: BinRange,
  ranges: MarketRanges,
): void {
  const { market, bin, supportCents, resistanceCents } = run;
  const { first, last } = band;
  const end = run.cellOffsets[row + 1];
  let count = 0;
  let i = run.cellOffsets[row];
  while (i < end) {
    const m = market[i];
    while (i < end && market[i] === m && bin[i] < first) i++;
    const start = i;
    let cents = 0;
    while (i < end && market[i] === m && bin[i] <= last) {
      cents += supportCents[i] + resistanceCents[i];
      i++;
    }
    if (i > start) {
      if (count === ranges.market.length || m >= ranges.market.length) {
        throw new RangeError(`cell of market ${m}, but the token has ${ranges.market.length}`);
      }
      ranges.market[count] = m;
      ranges.start[count] = start;
      ranges.end[count] = i;
      ranges.cents[count++] = cents;
    }
    while (i < end && market[i] === m) i++;
  }
  ranges.count = count;
}
