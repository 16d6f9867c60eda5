import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  LP_DENOMINATORS,
  LP_WINDOWS,
  LP_WINDOWS_H,
  denominatorsOf,
  densityTokens,
  feeDensityBoards,
  type FeeDensityInput,
  type FeeDensityRows,
} from '../../compute/lp/fee-density.js';
import { priceHours } from '../../compute/lp/price-range.js';
import { plainCheatSheet, type PlainTokenHour } from '../reference/lp.js';
import { marketplaces, newestOf, storedOf, thisHourOf, type TestMarketplace } from './lp-market.js';

function tokenHoursOf(rows: readonly PlainTokenHour[]): FeeDensityInput['hours'] {
  const addresses = [...new Set(rows.map(({ address }) => address))];
  return {
    addresses,
    token: Uint32Array.from(rows, ({ address }) => addresses.indexOf(address)),
    hour: Uint32Array.from(rows, ({ hour }) => hour),
    organicVolumeUsd: Float64Array.from(rows, ({ volume }) => volume),
  };
}

/** The boards as the server makes them; tokens in the order of `mints`. */
function boardsOf(place: TestMarketplace, mints: readonly string[], maxRows: number) {
  const thisHourS = thisHourOf(place.now, place.tokenHours);
  const tokens = mints.flatMap((address) => {
    const newest = newestOf(place, address);
    if (newest === null) return [];
    const prices = priceHours(storedOf(place, address));
    return [{ address, denominators: denominatorsOf(newest, prices, thisHourS) }];
  });
  const columns = densityTokens(tokens);
  const hours = tokenHoursOf(place.tokenHours);
  const boards = feeDensityBoards({ tokens: columns, hours, thisHourS, maxRows });
  return { addresses: columns.addresses, boards };
}

const rowsOf = (addresses: readonly string[], rows: FeeDensityRows) =>
  Array.from(rows.token, (token, i) => ({
    address: addresses[token],
    organic_volume: rows.organicVolumeUsd[i],
    denom_liquidity_usd: rows.denominatorUsd[i],
    fee_density: rows.feeDensity[i],
  }));

describe('LP fee density', () => {
  it('has the first rows of the definitions, for every window and denominator', () => {
    fc.assert(
      fc.property(marketplaces, fc.constantFrom(1, 3, 1000), (place, maxRows) => {
        const mints = Object.keys(place.snapshots).reverse();
        const { addresses, boards } = boardsOf(place, mints, maxRows);
        for (const window of LP_WINDOWS) {
          for (const denominator of LP_DENOMINATORS) {
            // Amounts are whole quarters, so sums are exact in any order.
            expect(rowsOf(addresses, boards[window][denominator])).toEqual(
              plainCheatSheet(place, LP_WINDOWS_H[window], denominator).slice(0, maxRows),
            );
          }
        }
      }),
      { numRuns: 120 },
    );
  });

  it('includes 1,000 USD and omits a cent less; ties go by address', () => {
    const thisHourS = 1_794_657_600;
    const token = (address: string, near: number) => ({
      address,
      denominators: { near, bin10: NaN, range: [NaN, NaN, NaN] },
    });
    const tokens = densityTokens([
      token('C', 1000),
      token('A', 999.99),
      token('D', 4000),
      token('B', 1000),
    ]);
    const hours = tokenHoursOf([
      { address: 'A', hour: thisHourS, volume: 5e6 },
      { address: 'B', hour: thisHourS, volume: 0 },
      { address: 'C', hour: thisHourS, volume: 0 },
      { address: 'D', hour: thisHourS - 3600, volume: 8000 },
    ]);
    const boards = feeDensityBoards({ tokens, hours, thisHourS, maxRows: 100 });
    const near = (window: '1h' | '6h') =>
      rowsOf(tokens.addresses, boards[window].near).map((row) => [row.address, row.fee_density]);
    expect(near('1h')).toEqual([
      ['B', 0],
      ['C', 0],
    ]);
    expect(near('6h')).toEqual([
      ['D', 2],
      ['B', 0],
      ['C', 0],
    ]);
    expect(boards['24h'].bin10.token.length).toBe(0);
  });
});
