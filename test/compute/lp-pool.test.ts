/** The LP tools' tasks in the real pool give the same results as in this thread. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { splitTexts } from '../../compute/joined-texts.js';
import { densityTokens, feeDensityBoards } from '../../compute/lp/fee-density.js';
import { joinTexts } from '../../storage/turns.js';
import { joinRanges, poolRanges } from '../../compute/lp/pool-range.js';
import { priceHours } from '../../compute/lp/price-range.js';
import { type ComputePool, startPool } from '../../compute/pool.js';
import {
  boardOf,
  boardPoolsOf,
  marketplaces,
  poolHoursOf,
  rangesOf,
  storedOf,
} from './lp-market.js';

describe('LP tasks in the pool', () => {
  let pool: ComputePool;
  beforeAll(async () => {
    const onError = (error: unknown) => {
      throw error;
    };
    pool = await startPool({ threads: 1, onError });
  });
  afterAll(() => pool.close());

  it('give the same ranges and boards', async () => {
    await fc.assert(
      fc.asyncProperty(marketplaces, async (place) => {
        const { pools, board } = boardOf(place);
        const { thisHourS } = board;
        const hours = poolHoursOf(place.poolHours);
        const ranges = joinRanges(rangesOf(place, boardPoolsOf(place)), thisHourS);
        const made = await pool.run('dlmmBoard', {
          pools: {
            ...pools,
            pubkeys: await joinTexts(pools.pubkeys),
            baseMints: await joinTexts(pools.baseMints),
          },
          hours: { ...hours, pubkeys: await joinTexts(hours.pubkeys) },
          ranges: { ...ranges, pubkeys: await joinTexts(ranges.pubkeys) },
          thisHourS,
        });
        expect(made).toEqual(board);
        const stored = storedOf(place, 'AAA');
        const poolOfMarket = Int32Array.from([0, 1, -1, 1]);
        const input = { ...stored, poolOfMarket, poolCount: 2, thisHourS };
        expect(await pool.run('poolRanges', input)).toEqual(poolRanges(input));
        expect(await pool.run('priceHours', stored)).toEqual(priceHours(stored));
      }),
      { numRuns: 15 },
    );
  });

  it('receive lists of texts of any length unchanged', async () => {
    for (const length of [0, 1, 1024, 1025, 5000]) {
      const texts = Array.from({ length }, (_, i) => `text ${i}`);
      const joined = await joinTexts(texts);
      expect(splitTexts(joined)).toEqual(texts);
      expect(joined.parts.length).toBeLessThanOrEqual(5);
    }
  });

  it('give the same cheat sheets', async () => {
    const thisHourS = 1_794_657_600;
    const tokens = densityTokens(
      ['B', 'A', 'C'].map((address, i) => ({
        address,
        denominators: { near: 2000 * (i + 1), bin10: 1000, range: [NaN, 1500, 999] },
      })),
    );
    const hours = {
      addresses: ['A', 'B'],
      token: Uint32Array.of(0, 1, 0),
      hour: Uint32Array.of(thisHourS, thisHourS, thisHourS - 3600),
      organicVolumeUsd: Float64Array.of(5, 10, 20),
    };
    const input = { tokens, hours, thisHourS, maxRows: 100 };
    const boards = await pool.run('feeDensityBoards', {
      ...input,
      tokens: { ...tokens, addresses: await joinTexts(tokens.addresses) },
      hours: { ...hours, addresses: await joinTexts(hours.addresses) },
    });
    expect(boards).toEqual(feeDensityBoards(input));
    expect([...boards['6h'].near.token]).toEqual([1, 0]);
  });

  it('fail if a block is damaged', async () => {
    const block = new Uint8Array(40);
    const input = { blocks: [block], selection: { run: [0], row: [0] }, firstHourS: 0 };
    await expect(pool.run('priceHours', input)).rejects.toThrow();
  });
});
