import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type BoardPeriod,
  chipLeaders,
  DLMM_SORT_COLUMNS,
  DLMM_SORTS,
} from '../../compute/lp/dlmm-board.js';
import { baseAndQuote } from '../../compute/lp/dlmm-pool.js';
import { DLMM_PERIODS, PERIODS_H } from '../../compute/lp/hours.js';
import {
  plainBoard,
  plainLeaders,
  plainOrder,
  plainRangeTvl,
  type PlainRow,
  plainThisHour,
} from '../reference/lp.js';
import {
  boardOf,
  boardPoolsOf,
  marketplaces,
  rangesOf,
  type TestMarketplace,
} from './lp-market.js';

const COLUMNS = [
  'fees',
  'volume',
  'tvl',
  'effectiveFeeBps',
  'feesPerAvgTvl',
  'captureShare',
  'feeCapture',
  'rangeTvl',
  'rangeYield',
  'rangeCeiling',
] as const satisfies (keyof PlainRow & keyof BoardPeriod)[];

function expectNear(actual: number, expected: number | null, what: string) {
  if (expected === null) expect(actual, what).toBeNaN();
  else expect(Math.abs(actual - expected), what).toBeLessThanOrEqual(1e-9 * Math.abs(expected));
}

const pubkeysOf = (place: TestMarketplace, rows: ArrayLike<number>, period: BoardPeriod) =>
  Array.from(rows, (row) => place.pools[period.pool[row]].pubkey);

/** The kernel's own numbers by pubkey: a sum's last digit must not decide a tie. */
function numbersOf(place: TestMarketplace, rows: BoardPeriod): Map<string, PlainRow> {
  const row = (i: number) =>
    Object.fromEntries(
      COLUMNS.map((column) => [column, Number.isNaN(rows[column][i]) ? null : rows[column][i]]),
    );
  return new Map(
    Array.from(rows.pool, (pool, i) => [place.pools[pool].pubkey, row(i) as unknown as PlainRow]),
  );
}

describe('the DLMM board', () => {
  it('has the rows and numbers of the definitions, in every period', () => {
    fc.assert(
      fc.property(marketplaces, (place) => {
        const { pools, board } = boardOf(place);
        expect(board.thisHourS).toBe(plainThisHour(place.now, place.poolHours));
        for (const period of DLMM_PERIODS) {
          const rows = board.periods[period];
          const expected = plainBoard(place, PERIODS_H[period]);
          expect(
            pubkeysOf(
              place,
              rows.pool.map((_, row) => row),
              rows,
            ),
          ).toEqual([...expected.keys()].sort());
          rows.pool.forEach((pool, row) => {
            const { pubkey, x, y } = place.pools[pool];
            const plain = expected.get(pubkey) as PlainRow;
            for (const column of COLUMNS) {
              expectNear(rows[column][row], plain[column], `${period} ${pubkey} ${column}`);
            }
            const base = pools.base[pool];
            const sides = baseAndQuote({ tokenXMint: x, tokenYMint: y }, place.quotes);
            expect(sides).toEqual({ baseMint: plain.base, quoteMint: plain.quote });
            expect(pools.baseMints[base]).toBe(plain.base);
            expect(board.poolsOfBase[base]).toBe(plain.tokenPoolCount);
          });
        }
      }),
      { numRuns: 60 },
    );
  });

  it('ranks the rows by every sort, nulls last, ties by address', () => {
    fc.assert(
      fc.property(marketplaces, (place) => {
        const { board } = boardOf(place);
        for (const period of DLMM_PERIODS) {
          const rows = board.periods[period];
          const numbers = numbersOf(place, rows);
          for (const sort of DLMM_SORTS) {
            const order = plainOrder(numbers, DLMM_SORT_COLUMNS[sort]);
            expect(pubkeysOf(place, rows.order[sort], rows)).toEqual(order);
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  it('gives chips to the pools that lead among those of a token', () => {
    fc.assert(
      fc.property(marketplaces, fc.constantFrom('SOL', 'AAA', 'BBB'), (place, mint) => {
        const hour = boardOf(place).board.periods['1h'];
        const expected = plainLeaders(place, numbersOf(place, hour), mint);
        const own = Array.from(hour.pool.keys()).filter((row) => {
          const { x, y } = place.pools[hour.pool[row]];
          return x === mint || y === mint;
        });
        const leaders = Object.entries(chipLeaders(hour, own.reverse()));
        expect(
          Object.fromEntries(leaders.map(([key, row]) => [key, pubkeysOf(place, [row], hour)[0]])),
        ).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });
});

it("pools' ranges cover each hour separately, with its prices and snapshots", () => {
  fc.assert(
    fc.property(marketplaces, (place) => {
      const pools = boardPoolsOf(place);
      const found = rangesOf(place, pools);
      // Without memory for blocks that stay decoded.
      expect(rangesOf(place, pools, 0)).toEqual(found);
      found.forEach(({ pubkeys, ranges }, base) => {
        const visible = place.snapshots[pools.baseMints[base]].filter(({ t }) => t <= place.now);
        const ofHour = (from: number) => visible.filter(({ t }) => t >= from && t < from + 3600);
        for (let hour = 0; hour < 24; hour++) {
          const snapshots = ofHour(ranges.thisHourS + (hour - 23) * 3600);
          pubkeys.forEach((pubkey, pool) => {
            const at = ranges.ofHour[pool * 24 + hour];
            expectNear(at, plainRangeTvl(snapshots, pubkey), `${pubkey} ${hour}`);
          });
        }
        const { prices } = ranges;
        for (let hour = 0; hour < 25; hour++) {
          const own = ofHour(prices.firstHourS + hour * 3600).map(({ price }) => price);
          expect(prices.snapshots[hour]).toBe(own.length);
          expect(prices.lowUsd[hour]).toBe(own.length === 0 ? NaN : Math.min(...own));
          expect(prices.highUsd[hour]).toBe(own.length === 0 ? NaN : Math.max(...own));
        }
      });
    }),
    { numRuns: 60 },
  );
});
