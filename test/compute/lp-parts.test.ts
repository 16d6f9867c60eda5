import { describe, expect, it } from 'vitest';
import { splitTexts } from '../../compute/joined-texts.js';
import { poolPrice } from '../../compute/lp/dlmm-pool.js';
import { joinRanges, poolRanges } from '../../compute/lp/pool-range.js';
import { binsOfPrices, priceHours } from '../../compute/lp/price-range.js';
import { joinTexts } from '../../storage/turns.js';
import { QUOTES, storedOf } from './lp-market.js';

const HOUR = 1_794_657_600;

it('the bins of a price range include a bin at the very end, however its price is rounded', () => {
  for (let bin = -40; bin <= 40; bin++) {
    for (const price of [1, 3, 0.1, 152.37, 1e-7]) {
      // Prices half a bin off the ladder: the ends are on bins.
      const low = price * 1.01 ** (bin + 0.5);
      expect(binsOfPrices(price, low, low)).toEqual({ first: bin, last: bin + 1 });
    }
  }
});

it('a pool has the price of X in Y of its active bin', () => {
  const pool = { binStep: 80, activeId: 524, tokenXDecimals: 9, tokenYDecimals: 6 };
  expect(poolPrice(pool)).toBeCloseTo(1.008 ** 524 * 1000, 6);
  expect(poolPrice({ ...pool, activeId: 0, tokenXDecimals: 6 })).toBe(1);
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

  it('are refused for an hour out of sight, a missing or damaged block, or a row past its end', () => {
    expect(() =>
      priceHours({ ...stored, blocks: stored.blocks.map(() => new Uint8Array(40)) }),
    ).toThrow();
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

it('lists of texts of any length reach another thread unchanged', async () => {
  for (const length of [0, 1, 1024, 1025, 5000]) {
    const texts = Array.from({ length }, (_, i) => `text ${i}`);
    const joined = await joinTexts(texts);
    expect(splitTexts(joined)).toEqual(texts);
    expect(joined.parts.length).toBeLessThanOrEqual(5);
  }
});
