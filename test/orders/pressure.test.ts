import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DcaOrder, TIMEFRAMES } from '../../compute/orders/dca-orders.js';
import {
  MAX_TOP_ORDERS,
  PRESSURE_DIRECTIONS,
  PRESSURE_SORTS,
  type PressureRanking,
  rankOf,
  rankPressure,
  topOrders,
  topOrdersOf,
} from '../../compute/orders/pressure.js';
import { type PressureRow, PressureRows } from '../../server/orders/pressure-board.js';
import type { LiveToken } from '../../server/tokens/token-table.js';
import { Turns } from '../../storage/turns.js';
import { plainImpact, type PlainFlowToken, plainPressure, plainRank } from '../reference/flow.js';
import { expectClose } from './close.js';
import { dcaOrdersOf, NOW_S, plainTokens } from './orders.js';
import { tokenStateOf } from './tokens.js';

/** Tokens and orders as in the market and the order book, and the rows that follow them. */
class Board {
  readonly states = new Map<string, LiveToken>();
  readonly orders = new Map<string, readonly DcaOrder[]>();
  readonly rows = new PressureRows(
    { token: (address) => this.states.get(address) ?? null },
    { orders: (address) => this.orders.get(address) ?? [] },
  );
  private revision = 0;

  put(token: PlainFlowToken): void {
    this.states.set(token.address, tokenStateOf(token, ++this.revision));
    this.orders.set(token.address, dcaOrdersOf(token));
  }

  async rank(touched: Iterable<string>): Promise<PressureRanking> {
    await this.rows.update(new Set(touched), new Turns());
    return rankPressure(this.rows.input(NOW_S));
  }
}

async function ranked(tokens: readonly PlainFlowToken[]) {
  const board = new Board();
  for (const token of tokens) board.put(token);
  const ranking = await board.rank(tokens.map(({ address }) => address));
  return { rows: board.rows.rows, ranking };
}

const addressOf = ({ token }: PressureRow): string => token.details.address;

/** Compares with the plain reference for the tokens, and rows by address. */
function expectPressure(
  rows: readonly PressureRow[],
  ranking: PressureRanking,
  tokens: readonly PlainFlowToken[],
): void {
  const plain = tokens
    .map((token) => plainPressure(token, NOW_S))
    .sort((a, b) => (a.address < b.address ? -1 : 1));
  expect(rows.map(addressOf)).toEqual(plain.map(({ address }) => address));
  const markets = new Map(tokens.map((token) => [token.address, token.markets]));
  for (const [i, want] of plain.entries()) {
    expect(ranking.buyCount[i]).toBe(want.buyCount);
    expect(ranking.sellCount[i]).toBe(want.sellCount);
    expectClose(ranking.totalBuyUsd[i], want.totalBuy);
    expectClose(ranking.totalSellUsd[i], want.totalSell);
    for (const [f, timeframe] of TIMEFRAMES.entries()) {
      const at = f * plain.length + i;
      const pct = ranking.netPct[at];
      expectClose(ranking.netUsd[at], want.netUsd[timeframe], want.address);
      // From the ranking's own net amount: without a ladder 0 USD are 0%, and one cent's billionth is null.
      const wantPct = plainImpact(markets.get(want.address)!, ranking.netUsd[at]);
      expectClose(Number.isNaN(pct) ? null : pct, wantPct, want.address);
      const top = topOrdersOf(ranking, i, timeframe, 50);
      expect(Array.from(top, (order) => rows[i].orders[order].dcaAddress)).toEqual(
        want.orders[timeframe].slice(0, MAX_TOP_ORDERS),
      );
      // From the ranking's own numbers, so that rounding does not change the order of a tie.
      want.netUsd[timeframe] = ranking.netUsd[at];
      want.netPct[timeframe] = Number.isNaN(pct) ? null : pct;
    }
  }
  for (const sort of PRESSURE_SORTS) {
    for (const direction of PRESSURE_DIRECTIONS) {
      for (const timeframe of TIMEFRAMES) {
        const own = rankOf(ranking, sort, direction, timeframe);
        const want = plainRank(plain, sort, direction, timeframe);
        expect(Array.from(own, (i) => plain[i].address)).toEqual(want.map((one) => one.address));
      }
    }
  }
}

/** A token without a ladder, whose orders cancel out except for rounding. */
const CANCELLING: PlainFlowToken = {
  address: '1'.repeat(32),
  price: 2,
  mcap: 0,
  markets: [],
  orders: (
    [
      ['1', 'SELL', 1 - 2 ** -52, 1, 60],
      ['2', 'BUY', 1, 0.01111111111111111, 40],
      ['3', 'BUY', 0.01, 0.01, 40],
      ['4', 'SELL', 0.01, 1, 60],
    ] as const
  ).map(([digit, direction, remaining, cycle, frequency]) => ({
    address: digit.repeat(32),
    direction,
    remaining,
    cycle,
    frequency,
    nextCycleAt: NOW_S - 100_000,
    min: null,
    max: null,
  })),
};

describe('the pressure of tokens', () => {
  it('equals the plain reference', async () => {
    await fc.assert(
      fc.asyncProperty(plainTokens(12), async (tokens) => {
        const { rows, ranking } = await ranked(tokens);
        expectPressure(rows, ranking, tokens);
        const orders = tokens.reduce((sum, token) => sum + token.orders.length, 0);
        expect(ranking.ordersRanked).toBe(orders);
      }),
      { numRuns: 60, examples: [[[CANCELLING]]] },
    );
  });

  it('stays equal as tokens, orders, prices and ladders are added, changed and removed', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ tokens: plainTokens(6), gone: fc.nat(), noRecord: fc.nat() }), {
          minLength: 2,
          maxLength: 8,
        }),
        fc.array(plainTokens(1), { minLength: 3, maxLength: 3 }),
        async (steps, shared) => {
          const board = new Board();
          const now = new Map<string, PlainFlowToken>();
          const names = shared.flat().map(({ address }) => address);
          for (const { tokens, gone, noRecord } of steps) {
            // Some have the addresses of existing ones.
            const named = tokens.map((token, i) => ({
              ...token,
              address: names[i] ?? token.address,
            }));
            for (const token of named) {
              board.put(token);
              now.set(token.address, token);
            }
            const touched = named.map(({ address }) => address);
            const addresses = [...now.keys()];
            for (const [which, from] of [
              [gone, board.orders],
              [noRecord, board.states],
            ] as const) {
              const leaves = addresses[which % (2 * addresses.length)];
              if (leaves === undefined) continue;
              from.delete(leaves);
              now.delete(leaves);
              touched.push(leaves);
            }
            const ranking = await board.rank(touched);
            expectPressure(board.rows.rows, ranking, [...now.values()]);
          }
        },
      ),
      { numRuns: 25 },
    );
  });
});

it('rows release the memory of removed orders and ladders', async () => {
  const board = new Board();
  const [tokens] = fc.sample(plainTokens(4, 4), { seed: 1, numRuns: 1 });
  const sizes = new Set<number>();
  for (let i = 0; i < 400; i++) {
    for (const token of tokens) board.put(token);
    await board.rows.update(new Set(tokens.map(({ address }) => address)), new Turns());
    const { orders, ladders } = board.rows.input(NOW_S);
    sizes.add(orders.byteLength + ladders.byteLength);
  }
  expect(sizes.size).toBe(1);
});

it('the top of a list has its largest values, the earlier of equal ones', () => {
  const values = fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 60, size: 'max' });
  fc.assert(
    fc.property(values, (list) => {
      const into = new Uint32Array(MAX_TOP_ORDERS + 2).fill(77);
      topOrders(Float64Array.from(list), into, 1);
      const want = list
        .map((value, i) => ({ value, i }))
        .sort((a, b) => b.value - a.value || a.i - b.i)
        .slice(0, MAX_TOP_ORDERS)
        .map(({ i }) => i);
      expect([...into.subarray(1, 1 + want.length)]).toEqual(want);
      expect([into[0], into[1 + want.length]]).toEqual([77, 77]);
    }),
  );
});
