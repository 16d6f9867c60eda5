import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_BIN, MIN_BIN } from '../../compute/ladder.js';
import { chipLeaders } from '../../compute/lp/dlmm-board.js';
import { baseAndQuote, poolPrice } from '../../compute/lp/dlmm-pool.js';
import { hoursInSight, thisHour } from '../../compute/lp/hours.js';
import { joinRanges, poolRanges } from '../../compute/lp/pool-range.js';
import { binsOfPrices, priceHours, pricesOver } from '../../compute/lp/price-range.js';
import { QUOTES, storedOf } from './lp-market.js';

const HOUR = 1_794_657_600;

/** The bins in the range, checked one by one. */
function plainBins(price: number, low: number, high: number): number[] {
  const bins: number[] = [];
  for (let bin = MIN_BIN; bin <= MAX_BIN; bin++) {
    const at = price * 1.01 ** bin;
    const above = at >= (low / Math.sqrt(1.01)) * (1 - 1e-9);
    if (above && at <= high * Math.sqrt(1.01) * (1 + 1e-9)) bins.push(bin);
  }
  return bins;
}

const listed = ({ first, last }: { first: number; last: number }) =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);

describe('the bins of a price range', () => {
  it('are those whose price is in it', () => {
    const price = fc.double({ min: 1e-6, max: 1e6, noNaN: true });
    const near = fc.double({ min: 0.05, max: 20, noNaN: true });
    fc.assert(
      fc.property(price, near, near, (at, a, b) => {
        const [low, high] = [Math.min(a, b) * at, Math.max(a, b) * at];
        expect(listed(binsOfPrices(at, low, high))).toEqual(plainBins(at, low, high));
      }),
      { numRuns: 300 },
    );
  });

  it('include a bin at the very end, however its price is rounded', () => {
    for (let bin = -40; bin <= 40; bin++) {
      for (const price of [1, 3, 0.1, 152.37, 1e-7]) {
        // Prices half a bin off the ladder: the ends are on bins.
        const low = price * 1.01 ** (bin + 0.5);
        expect(binsOfPrices(price, low, low)).toEqual({ first: bin, last: bin + 1 });
      }
    }
  });

  it('are only the newest price’s bin if the price never moved', () => {
    expect(binsOfPrices(7, 7, 7)).toEqual({ first: 0, last: 0 });
  });

  it('are none if the range is beyond the ladder', () => {
    expect(listed(binsOfPrices(1, 20, 30))).toEqual([]);
    expect(listed(binsOfPrices(1, 0.001, 0.01))).toEqual([]);
  });
});

describe('this hour', () => {
  it('is the current bucket as soon as it has a row, and the one before until then', () => {
    for (const now of [HOUR, HOUR + 1, HOUR + 3599]) {
      expect(thisHour(now, (hour) => hour === HOUR)).toBe(HOUR);
      expect(thisHour(now, (hour) => hour !== HOUR)).toBe(HOUR - 3600);
      expect(hoursInSight(now)).toEqual({ firstHourS: HOUR - 24 * 3600, lastHourS: HOUR });
    }
  });
});

describe('a pool', () => {
  it('has the price of X in Y of its active bin', () => {
    const pool = { binStep: 80, activeId: 524, tokenXDecimals: 9, tokenYDecimals: 6 };
    expect(poolPrice(pool)).toBeCloseTo(1.008 ** 524 * 1000, 6);
    expect(poolPrice({ ...pool, activeId: 0, tokenXDecimals: 6 })).toBe(1);
  });

  it.each([
    ['AAA', 'USDC', 'AAA', 'USDC'],
    ['USDC', 'AAA', 'AAA', 'USDC'],
    ['USDC', 'SOL', 'SOL', 'USDC'],
    ['SOL', 'USDT', 'SOL', 'USDT'],
    ['AAA', 'BBB', 'AAA', 'BBB'],
    ['BBB', 'AAA', 'BBB', 'AAA'],
  ])('of %s and %s has base %s and quote %s', (x, y, baseMint, quoteMint) => {
    const sides = baseAndQuote({ tokenXMint: x, tokenYMint: y }, QUOTES);
    expect(sides).toEqual({ baseMint, quoteMint });
  });
});

describe('chips', () => {
  const columns = (feesPerAvgTvl: number[], rangeYield: number[], fees: number[]) => ({
    feesPerAvgTvl: Float64Array.from(feesPerAvgTvl),
    rangeYield: Float64Array.from(rangeYield),
    fees: Float64Array.from(fees),
  });

  it('go to the greatest value, or the first row of equal ones', () => {
    const hour = columns([1, 3, 3], [NaN, 1, 2], [5, 5, 1]);
    expect(chipLeaders(hour, [2, 1, 0])).toEqual({ feesPerAvgTvl: 1, rangeYield: 2, fees: 0 });
    expect(chipLeaders(hour, [2])).toEqual({ feesPerAvgTvl: 2, rangeYield: 2, fees: 2 });
  });

  it('go to nobody if all values are null or zero', () => {
    expect(chipLeaders(columns([NaN, 0], [NaN, NaN], [0, 0]), [0, 1])).toEqual({});
    expect(chipLeaders(columns([1], [1], [1]), [])).toEqual({});
  });
});

describe('ranges', () => {
  const cells = [{ market: 'P1', pool: true, bin: 0, usd: 100 }];
  const place = {
    now: HOUR + 600,
    quotes: QUOTES,
    pools: [],
    poolHours: [],
    tokenHours: [],
    snapshots: {
      AAA: [
        { t: HOUR - 3601, price: 4, cells },
        { t: HOUR - 3600, price: 10, cells },
        { t: HOUR - 1, price: 11, cells },
        { t: HOUR, price: 20, cells },
      ],
    },
  };
  const stored = storedOf(place, 'AAA');
  const input = { ...stored, poolOfMarket: new Int32Array(1), poolCount: 1, thisHourS: HOUR };

  it('end with the last second of this hour: the current bucket’s snapshots wait for a row', () => {
    const before = poolRanges({ ...input, thisHourS: HOUR - 3600 });
    expect(pricesOver(before.prices, HOUR - 3600, HOUR - 3600)).toEqual({
      lowUsd: 10,
      highUsd: 11,
      snapshots: 2,
    });
    // In bins 0 of 10 and 11 USD, both within [10, 11], of two snapshots.
    expect(before.ofPeriod[0]).toBe(100);
    expect(poolRanges(input).prices).toEqual(before.prices);
    expect(priceHours(stored)).toEqual(before.prices);
  });

  it('are refused for an hour out of sight, a missing block, or a row past its end', () => {
    expect(() => poolRanges({ ...input, thisHourS: HOUR + 3600 })).toThrow(/not in sight/);
    expect(() => poolRanges({ ...input, thisHourS: HOUR - 7200 })).toThrow(/not in sight/);
    expect(() => priceHours({ ...stored, selection: { run: [9], row: [0] } })).toThrow(/block 9/);
    expect(() => priceHours({ ...stored, selection: { run: [0], row: [3] } })).toThrow(
      /snapshot 3/,
    );
  });

  it('of another hour are not used for a board', () => {
    const ranges = poolRanges(input);
    expect(joinRanges([{ pubkeys: ['P1'], ranges }], HOUR).pubkeys).toEqual(['P1']);
    expect(() => joinRanges([{ pubkeys: ['P1'], ranges }], HOUR - 3600)).toThrow(/of hour/);
  });
});
